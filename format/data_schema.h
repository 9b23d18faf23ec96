// The generated code of data_file.fbs, namespace berth::fb::data. Its accessors do not check anything: use them only if
// verify_data_file() accepted the file.
#pragma once

#include "format/data_file_generated.h"
