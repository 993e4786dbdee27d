// Settings for what outlives requests. See option.h for what a row yields.
#include <array>

#include "config/option_tables.h"

namespace corral::config {
namespace {

using S = ServeSettings;

constexpr std::int64_t kHour = 3'600 * 1'000;
constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kLongest = 10 * 365 * 24 * kHour;

const std::array kOptions = {
    Option{.key = "store_responses",
           .group = Group::store,
           .field = &S::store_responses,
           .fallback = "true",
           .help = "Keep responses and conversations of OpenAI's Responses API, so that requests can go on from them. "
                   "Only the key that made them finds them. Without it nothing is kept, and what was is not found.",
           .applies = Applies::now},
    Option{.key = "max_stored_bytes",
           .group = Group::store,
           .field = &S::max_stored_bytes,
           .fallback = "256MiB",
           .value_name = "SIZE",
           .help = "Responses and conversations that are kept together; the oldest goes of the key that has most. One "
                   "may have a quarter of it.",
           .range = {kMiB, 1024 * 1024 * kMiB},
           .applies = Applies::now},
    Option{.key = "max_stored_age",
           .group = Group::store,
           .field = &S::max_stored_age,
           .fallback = "720h",
           .value_name = "TIME",
           .help = "How long a response is kept, and a conversation that nobody uses.",
           .range = {1'000, kLongest},
           .applies = Applies::now},
    Option{.key = "max_activity_rows",
           .group = Group::store,
           .field = &S::max_activity_rows,
           .fallback = "100000",
           .value_name = "N",
           .help = "Requests of which it is kept what they have come to (model, key, tokens, durations), but nothing "
                   "that they said. off (0): none.",
           .range = {0, 10'000'000},
           .zero_name = "off",
           .applies = Applies::now},
    Option{.key = "max_activity_age",
           .group = Group::store,
           .field = &S::max_activity_age,
           .fallback = "720h",
           .value_name = "TIME",
           .help = "How long that is kept.",
           .range = {1'000, kLongest},
           .applies = Applies::now},
    Option{.key = "capture_bodies",
           .group = Group::store,
           .field = &S::capture_bodies,
           .fallback = "false",
           .help = "Keep what requests and answers say, for looking into what a client does. Secrets are struck out; "
                   "what people write is not.",
           .applies = Applies::now,
           .guarded = true},
    Option{.key = "max_capture_bytes",
           .group = Group::store,
           .field = &S::max_capture_bytes,
           .fallback = "64MiB",
           .value_name = "SIZE",
           .help = "Of capture_bodies: so much is kept, then the oldest goes.",
           .range = {kMiB, 1024 * 1024 * kMiB},
           .applies = Applies::now},
};

}  // namespace

std::span<const Option> store_options() { return kOptions; }

}  // namespace corral::config
