// The generated code of data_file.fbs, namespace berth::fb::data. Its accessors trust the bytes: use them on a file
// that verify_data_file() accepted.
#pragma once

#include "format/data_file_generated.h"
