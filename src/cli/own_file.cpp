#include "cli/own_file.h"

#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "cli/errors.h"
#include "cli/server/address.h"
#include "cli/terminal/format.h"
#include "config/files/file_edit.h"
#include "config/options/origins.h"
#include "config/paths.h"
#include "config/sources.h"

namespace corral::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLooks = 40;
constexpr Millis kLook{50};

bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code none;
  return fs::weakly_canonical(one, none) == fs::weakly_canonical(other, none);
}

std::unexpected<Error> refused(std::string_view key, std::string_view why) {
  return fail(errc::request_failed, fmt::format("'{}' needs a key with the scope admin: {}", key, why));
}

}  // namespace

bool is_on_this_machine(const ServerApi& api) {
  const auto address = parse_url(api.url());
  return address && config::is_loopback(address->host);
}

Result<Settings> settings_now(CommandContext& context) {
  const auto text = fetch(context.api, ApiRequest::get("/internal/config"));
  if (!text) return std::unexpected(text.error());
  return parse_settings(*text);
}

Result<> set_in_own_file(CommandContext& context, const Settings& now, std::string_view key, const std::string& value) {
  if (!is_on_this_machine(context.api)) return refused(key, context.api.url() + " is not on this machine");
  const auto paths = config::Paths::from(context.inputs.environment);
  const auto file = config::config_file(context.inputs, paths).path;
  if (now.file.empty() || !is_same_file(file, now.file))
    return refused(key, fmt::format("the configuration file of the server is {}, not {} (see --config)",
                                    or_unknown(now.file), file.native()));
  const auto* row = now.find(key);
  if (row != nullptr && row->source != "default" && row->source != "file")
    return refused(key, fmt::format("its value is from {}, which overrides the configuration file",
                                    or_unknown(row->where.empty() ? row->source : row->where)));
  // `value` was made from the server's answer, but another user's server could return anything.
  const auto present = config::setting_in(file, key);
  if (!present) return std::unexpected(present.error());
  if (present->value_or("") != (row == nullptr ? "" : row->value))
    return refused(key, fmt::format("the server reports '{}', but {} has '{}'", row == nullptr ? "" : row->value,
                                    file.native(), present->value_or("")));
  if (auto written = config::write_setting(file, key, value); !written) return written;
  Settings then;
  for (int i = 0; i < kMaxLooks; ++i) {
    if (i > 0) std::this_thread::sleep_for(kLook);
    auto settings = settings_now(context);
    if (!settings) return std::unexpected(settings.error());
    then = std::move(*settings);
    const auto* taken = then.find(key);
    if (taken != nullptr && taken->value == value) return {};
  }
  return fail(errc::request_failed, fmt::format("'{}' is in {} now, but the server does not accept it{}{}", key,
                                                file.native(), then.problem.empty() ? "" : ": ", then.problem));
}

Result<std::string> set_guarded(CommandContext& context, const Settings& now, std::string_view key,
                                const std::string& value, std::string_view hint) {
  const auto set = ApiRequest::post("/internal/set", text_object({{std::string(key), value}}));
  auto reply = context.api.call(set);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status < 400) return std::move(reply->body);
  if (error_code_in(reply->body) != "admin_key_needed") return std::unexpected(refusal(context.api, *reply));
  auto written = set_in_own_file(context, now, key, value);
  if (!written) {
    written.error().message += hint;
    return std::unexpected(std::move(written.error()));
  }
  return text_object({{"status", "success"}, {std::string(key), value}});
}

}  // namespace corral::cli
