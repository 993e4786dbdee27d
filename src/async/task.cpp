#include "async/task.h"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

namespace corral::async::detail {

std::exception_ptr take_across(const std::exception_ptr& failure) {
  if (!failure) return nullptr;
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error& error) {
    if (error.code() != asio::error::operation_aborted) return failure;
  } catch (...) {
    return failure;
  }
  return std::make_exception_ptr(boost::system::system_error(asio::error::operation_aborted));
}

}  // namespace corral::async::detail
