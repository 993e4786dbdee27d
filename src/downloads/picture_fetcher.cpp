#include "downloads/picture_fetcher.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "downloads/errors.h"
#include "downloads/transfer/public_address.h"

namespace corral::downloads {
namespace {

constexpr std::size_t kMaxDetail = 200;  // of libcurl's message

std::unexpected<Error> failed(std::string why) { return fail(errc::unreachable, std::move(why)); }

}  // namespace

CurlOptions picture_options(std::string user_agent) {
  CurlOptions options;
  options.deadline = options.stall = options.connect = Millis(10'000);
  options.user_agent = std::move(user_agent);
  options.proxy = "";
  options.max_redirects = 3;
  options.may_connect = [](const boost::asio::ip::address& address) {
    return is_public(address) &&
           std::ranges::none_of(local_networks(), [&](const LocalNetwork& network) { return is_in(address, network); });
  };
  return options;
}

PictureFetcher::PictureFetcher(async::Timers& timers, CurlOptions options)
    : deadline_(options.deadline),
      max_redirects_(options.max_redirects),
      curl_(loop_.executor(), timers, std::move(options)),
      thread_([this] { loop_.run(); }) {}

PictureFetcher::~PictureFetcher() {
  loop_.stop();
  thread_.join();
}

async::Task<Result<std::string>> PictureFetcher::fetch(std::string url, std::uint64_t max_bytes) {
  return async::run_on(loop_.executor(), fetch_here(std::move(url), max_bytes));
}

async::Task<Result<std::string>> PictureFetcher::fetch_here(std::string url, std::uint64_t max_bytes) {
  FetchRequest request{.url = std::move(url), .accept = "image/*", .max_body = max_bytes};
  auto fetching = curl_.fetch(std::move(request));
  auto answer = co_await std::move(fetching);
  if (answer.fault == Fault::too_large) co_return failed(fmt::format("it has more than {} bytes", max_bytes));
  // Its address isn't named: clients can't find out what the machine's network has.
  if (answer.address_refused) co_return failed("its host has no public address outside of this server's networks");
  if (answer.too_many_redirects) co_return failed(fmt::format("it has more than {} redirects", max_redirects_));
  if (answer.fault == Fault::stalled)
    co_return failed(fmt::format("it takes longer than {} s", static_cast<double>(deadline_.count()) / 1000));
  if (answer.fault != Fault::none) co_return failed(excerpt(answer.detail, kMaxDetail));
  if (answer.head.status != 200) co_return failed(fmt::format("its server answered {}", answer.head.status));
  co_return std::move(answer.body);
}

}  // namespace corral::downloads
