#include "router/base/failure.h"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

namespace corral::router {

bool is_cancellation(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error& error) {
    return error.code() == boost::asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

std::string words_of(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an object that is not an exception was thrown";
  }
}

}  // namespace corral::router
