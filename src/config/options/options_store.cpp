// Settings of the store. See option.h for what a row yields.
#include <array>

#include "config/options/option_tables.h"

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
           .help =
               "Store responses and conversations of OpenAI's Responses API, so that requests can continue them. Only "
               "the key that created them can read them. If off, nothing is stored, and stored items are not found.",
           .applies = Applies::now},
    Option{.key = "max_stored_bytes",
           .group = Group::store,
           .field = &S::max_stored_bytes,
           .fallback = "256MiB",
           .value_name = "SIZE",
           .help = "Size limit of all stored responses and conversations; the oldest of the key with the most is "
                   "deleted first. One item may use a quarter.",
           .range = {kMiB, 1024 * 1024 * kMiB},
           .applies = Applies::now},
    Option{.key = "max_stored_age",
           .group = Group::store,
           .field = &S::max_stored_age,
           .fallback = "720h",
           .value_name = "TIME",
           .help = "Time after which a response, or an unused conversation, is deleted.",
           .range = {1'000, kLongest},
           .applies = Applies::now},
    Option{
        .key = "max_activity_rows",
        .group = Group::store,
        .field = &S::max_activity_rows,
        .fallback = "100000",
        .value_name = "N",
        .help =
            "Number of finished requests to record (model, key, tokens, durations), without their text. off (0): none.",
        .range = {0, 10'000'000},
        .zero_name = "off",
        .applies = Applies::now},
    Option{.key = "max_activity_age",
           .group = Group::store,
           .field = &S::max_activity_age,
           .fallback = "720h",
           .value_name = "TIME",
           .help = "Time after which records of requests are deleted.",
           .range = {1'000, kLongest},
           .applies = Applies::now},
    Option{
        .key = "capture_bodies",
        .group = Group::store,
        .field = &S::capture_bodies,
        .fallback = "false",
        .help =
            "Record the bodies of requests and responses, to debug clients. Secrets are removed; text of users is not.",
        .applies = Applies::now,
        .guarded = true},
    Option{.key = "max_capture_bytes",
           .group = Group::store,
           .field = &S::max_capture_bytes,
           .fallback = "64MiB",
           .value_name = "SIZE",
           .help = "Size limit of recorded bodies (capture_bodies); the oldest are deleted first.",
           .range = {kMiB, 1024 * 1024 * kMiB},
           .applies = Applies::now},
};

}  // namespace

std::span<const Option> store_options() { return kOptions; }

}  // namespace corral::config
