#include "api/images/image_store.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/secret.h"

namespace corral::api {
namespace {

constexpr std::size_t kNameCharacters = 40;  // 200 bits

}  // namespace

void ImageStore::drop(std::uint64_t limit, MonoTime now, Entries& gone) {
  while (!entries_.empty() && (entries_.front().until <= now || bytes_ > limit || entries_.size() > kMaxImages)) {
    bytes_ -= entries_.front().image.bytes->size();
    gone.push_back(std::move(entries_.front()));
    entries_.pop_front();
  }
}

std::string ImageStore::keep(Image image, std::uint64_t limit, MonoTime now) {
  auto name = random_text(kNameCharacters);
  name.append(".").append(image.format);
  Entries gone;
  const MutexLock lock(mutex_);
  bytes_ += image.bytes->size();
  entries_.push_back({name, now + kTime, std::move(image)});
  drop(limit, now, gone);
  return name;
}

std::optional<ImageStore::Image> ImageStore::find(std::string_view name, MonoTime now) {
  Entries gone;
  const MutexLock lock(mutex_);
  drop(std::numeric_limits<std::uint64_t>::max(), now, gone);
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found == entries_.end() ? std::nullopt : std::optional(found->image);
}

}  // namespace corral::api
