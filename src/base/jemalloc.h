// jemalloc's mallctl, if jemalloc is linked: the program has it, most tests and the sanitizers have the C library's
// allocator. Null without it.
#pragma once

#include <jemalloc/jemalloc.h>

#pragma weak mallctl
