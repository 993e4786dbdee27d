#include "base/huge_pages.h"

#include <cstddef>
#include <optional>
#include <string>

#include <sys/mman.h>

#include "base/jemalloc.h"

namespace corral {
namespace {

// Least size of a range of addresses, as jemalloc takes them from the system, for huge pages. A block of this size
// always lies in such a range.
constexpr std::size_t kLeastBytes = 32 << 20;
// Ranges for smaller blocks grow with each further one, up to this size.
constexpr std::size_t kGrowthBytes = kLeastBytes / 2;

// `usual`: how jemalloc takes memory from the system. `ours`: the same, with huge pages for large ranges.
struct Hooks {
  extent_hooks_t* usual = nullptr;
  extent_hooks_t ours = {};
};

Hooks& hooks() {
  static Hooks found;
  return found;
}

void* alloc(extent_hooks_t* /*ours*/, void* at, std::size_t bytes, std::size_t alignment, bool* zero, bool* commit,
            unsigned arena) {
  extent_hooks_t* const usual = hooks().usual;
  void* const extent = usual->alloc(usual, at, bytes, alignment, zero, commit, arena);
  // A system without them refuses: then the pages are small.
  if (extent != nullptr && bytes >= kLeastBytes) ::madvise(extent, bytes, MADV_HUGEPAGE);
  return extent;
}

// The arena of all scopes. None: no jemalloc, or it refuses.
std::optional<unsigned> make_arena() {
  if (mallctl == nullptr) return std::nullopt;
  std::size_t size = sizeof(hooks().usual);
  if (mallctl("arena.0.extent_hooks", static_cast<void*>(&hooks().usual), &size, nullptr, 0) != 0) return std::nullopt;
  hooks().ours = *hooks().usual;
  hooks().ours.alloc = alloc;
  extent_hooks_t* ours = &hooks().ours;
  unsigned arena = 0;
  size = sizeof(arena);
  if (mallctl("arenas.create", &arena, &size, static_cast<void*>(&ours), sizeof(ours)) != 0) return std::nullopt;
  std::size_t max = kGrowthBytes;  // refused where ranges don't grow
  mallctl(("arena." + std::to_string(arena) + ".retain_grow_limit").c_str(), nullptr, nullptr, &max, sizeof(max));
  return arena;
}

}  // namespace

HugePagesScope::HugePagesScope() {
  static const std::optional<unsigned> arena = make_arena();
  if (!arena) return;
  unsigned now = *arena;
  std::size_t size = sizeof(arena_before_);
  changed_ = mallctl("thread.arena", &arena_before_, &size, &now, sizeof(now)) == 0;
}

HugePagesScope::~HugePagesScope() {
  if (changed_) mallctl("thread.arena", nullptr, nullptr, &arena_before_, sizeof(arena_before_));
}

}  // namespace corral
