// BERTH_HD before a function: where nvcc compiles it, for the device as well as for the host.
#pragma once

#if defined(__CUDACC__)
#define BERTH_HD __host__ __device__
#else
#define BERTH_HD
#endif
