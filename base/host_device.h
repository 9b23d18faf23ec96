// BERTH_HD marks a function that nvcc compiles for both the device and the host. Other compilers ignore it.
#pragma once

#if defined(__CUDACC__)
#define BERTH_HD __host__ __device__
#else
#define BERTH_HD
#endif
