#include "mesh/peers/table/address_book.h"

#include <algorithm>

namespace corral::mesh {
namespace {

void add(std::vector<Address>& all, const std::vector<Address>& more) {
  for (const auto& address : more) {
    if (std::ranges::find(all, address) == all.end()) all.push_back(address);
  }
}

}  // namespace

bool AddressBook::knows(const Address& address) const {
  const auto known = all();
  return std::ranges::find(known, address) != known.end();
}

Origin AddressBook::origin_of(const Address& address) const {
  if (std::ranges::find(configured_, address) != configured_.end()) return Origin::settings;
  return proven_ == address ? Origin::link : Origin::other;
}

bool AddressBook::put(std::vector<Address>& list, std::size_t limit, const Address& address) {
  if (knows(address)) return false;
  if (list.size() >= limit) list.erase(list.begin());
  list.push_back(address);
  return true;
}

bool AddressBook::announced(std::vector<Address> addresses) {
  if (addresses.size() > kMaxAnnounced) addresses.resize(kMaxAnnounced);
  if (addresses == announced_) return false;
  announced_ = std::move(addresses);
  return true;
}

bool AddressBook::reported(const Address& address) { return put(reported_, kMaxReported, address); }
bool AddressBook::configured(const Address& address) {
  // Also if another source has it: the administrator is the more trusted source.
  if (std::ranges::find(configured_, address) != configured_.end()) return false;
  const bool added = !knows(address);
  if (configured_.size() >= kMaxConfigured) configured_.erase(configured_.begin());
  configured_.push_back(address);
  return added;
}
bool AddressBook::hinted(const Address& address) { return put(hints_, kMaxHints, address); }

void AddressBook::is_elsewhere(const Address& address) {
  std::erase(reported_, address);
  std::erase(hints_, address);
  if (proven_ == address) proven_.reset();
}

std::vector<Address> AddressBook::first_hand() const {
  std::vector<Address> list;
  if (proven_) list.push_back(*proven_);
  add(list, announced_);
  return list;
}

std::vector<Address> AddressBook::lasting() const {
  std::vector<Address> list;
  if (proven_) list.push_back(*proven_);
  for (const auto* part : {&configured_, &announced_, &reported_}) add(list, *part);
  return list;
}

std::vector<Address> AddressBook::all() const {
  auto list = lasting();
  add(list, hints_);
  return list;
}

}  // namespace corral::mesh
