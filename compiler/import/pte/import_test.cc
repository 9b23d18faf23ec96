#include <gtest/gtest.h>
#include "compiler/import/pte/import_pte.h"
#include "compiler/ir/print.h"
#include "format/write/test_programs.h"
TEST(A, B) {}
