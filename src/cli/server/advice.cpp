#include "cli/server/advice.h"

#include <string_view>

namespace corral::cli {
namespace {

struct Advice {
  std::string_view http;      // as the server writes it
  std::string_view commands;  // for a command line
};

constexpr Advice kAdvice[] = {
    {"send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'", "set CORRAL_API_KEY or give --api-key"},
    {"or set 'models_dir': true", "or give --models-dir"},
};

}  // namespace

std::string advice_in_commands(std::string message) {
  for (const Advice& advice : kAdvice) {
    const auto at = message.find(advice.http);
    if (at != std::string::npos) message.replace(at, advice.http.size(), advice.commands);
  }
  return message;
}

}  // namespace corral::cli
