// Asio's parallel groups, for .cpp files: costly to compile, and its own header doesn't include what it needs.
#pragma once

// clang-format off
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
// clang-format on
