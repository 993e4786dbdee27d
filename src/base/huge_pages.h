// Huge pages (2 MiB) for large blocks of memory. A pass reads all weights of a model; if they are in huge pages, it
// takes about 5 % less time (docs/benchmarks.md, "Huge pages").
#pragma once

namespace corral {

// While it lives, large blocks that its thread allocates get huge pages if the system has them ("always" or "madvise"
// in /sys/kernel/mm/transparent_hugepage/enabled). Small blocks get them only in what a large block left over: a huge
// page is in memory as a whole. Without jemalloc (base/heap.h) it does nothing. It ends on the thread that made it.
class HugePagesScope {
 public:
  HugePagesScope();
  ~HugePagesScope();
  HugePagesScope(const HugePagesScope&) = delete;
  HugePagesScope& operator=(const HugePagesScope&) = delete;

 private:
  unsigned arena_before_ = 0;  // of jemalloc
  bool changed_ = false;
};

}  // namespace corral
