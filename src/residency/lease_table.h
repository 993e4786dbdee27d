// Leases in a table of reused slots. A lease names its slot and the slot's generation, so a returned lease, or one of a
// gone instance, is always recognised. Taking and returning allocate nothing once the table has grown.
#pragma once

#include <cstdint>
#include <vector>

#include "residency/types.h"

namespace corral::residency {

struct Instance;

class LeaseTable {
 public:
  LeaseId take(Instance& instance, RequestOrigin origin = RequestOrigin::local);
  // Instance and origin of the lease that ends; nullptr for one that is unknown or ended before.
  struct Ended {
    Instance* instance = nullptr;
    RequestOrigin origin = RequestOrigin::local;
  };
  Ended give_back(LeaseId lease);
  // Ends every lease on an instance that died.
  void drop_all(const Instance& instance);
  std::size_t size() const { return used_; }

 private:
  struct Slot {
    Instance* instance = nullptr;
    std::uint32_t generation = 1;
    RequestOrigin origin = RequestOrigin::local;
  };
  void end(std::uint32_t index);

  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t used_ = 0;
};

}  // namespace corral::residency
