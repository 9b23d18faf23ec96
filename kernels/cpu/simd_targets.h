// Which instruction sets the files of this room that use Highway are compiled for. To be included before any header of
// Highway: every such file has the same list, so that tests can switch all of them at once.
#pragma once

// Left out: SSSE3, which is everywhere where SSE4 is for what we do.
#define HWY_DISABLED_TARGETS HWY_SSSE3
