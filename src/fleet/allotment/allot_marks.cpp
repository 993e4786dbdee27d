#include "fleet/allotment/allot_marks.h"

#include <algorithm>

#include "base/secret.h"
#include "fleet/base/renamed_keys.h"
#include "json/value.h"
#include "json/writer.h"

namespace corral::fleet {
namespace {

constexpr std::size_t kMax = mesh::kNodeStateLimits.marks;

// Removes an entry, the first by content, if there is no place for this one.
template <typename Map>
void make_room(Map& map, const mesh::ContentKey& model, std::size_t limit = kMax) {
  if (map.size() >= limit && !map.contains(model)) map.erase(map.begin());
}

void write_key(json::Writer& out, const mesh::ContentKey& key) {
  out.field("content", to_hex(key.bytes)).field("pending", key.pending);
}

std::optional<mesh::ContentKey> read_key(const json::Value& from) {
  const auto content = parse_sha256(json::text_or(from, "content", ""));
  if (!content) return std::nullopt;
  return mesh::ContentKey{*content, json::bool_or(from, "pending", false)};
}

std::set<mesh::NodeId> holders_of(const mesh::AllocationInput& situation, const mesh::ContentKey& content) {
  std::set<mesh::NodeId> holders;
  for (const auto& node : situation.nodes) {
    const auto holds = [&](const mesh::HeldModel& held) { return held.model == content && !held.draining; };
    if (std::ranges::any_of(node.holds, holds)) holders.insert(node.id);
  }
  return holders;
}

}  // namespace

void AllotMarks::assign(std::optional<Named> model) {
  user_ordered_ = true;
  if (model && model->content) {
    want(*model->content);
    loaded(*model->content);
  }
  order_ = Order{std::move(model)};
}

void AllotMarks::release() {
  user_ordered_ = true;
  order_.reset();
}

void AllotMarks::assign_at_start(std::string name) {
  if (!user_ordered_) order_ = Order{Named{std::move(name), std::nullopt}};
}

void AllotMarks::unload(const mesh::ContentKey& model, MonoTime now) {
  make_room(unloads_, model);
  unloads_.insert_or_assign(model, Given{.since = now});
  splits_.erase(model);
}

void AllotMarks::rest(const mesh::ContentKey& model, MonoTime now) {
  make_room(resting_, model);
  resting_.insert_or_assign(model, Given{.since = now});
}

void AllotMarks::want(const mesh::ContentKey& model) {
  unloads_.erase(model);
  resting_.erase(model);
}

void AllotMarks::split(mesh::SplitOrder order) {
  want(order.model);
  loaded(order.model);
  make_room(splits_, order.model, mesh::kNodeStateLimits.split_orders);
  splits_.insert_or_assign(order.model, std::move(order));
}

void AllotMarks::end_split(const mesh::ContentKey& model) { splits_.erase(model); }

void AllotMarks::decline(const mesh::ContentKey& model, MonoTime now) {
  make_room(rests_, model);
  make_room(declined_, model);
  auto& last = rests_[model];
  last.rest = last.rest == Millis(0) ? kFirstRest : std::min(last.rest * 2, kLongestRest);
  last.until = now + last.rest;
  declined_[model] = last;
}

void AllotMarks::loaded(const mesh::ContentKey& model) {
  declined_.erase(model);
  rests_.erase(model);
}

bool AllotMarks::heed(Givens& given, const mesh::AllocationInput& situation, MonoTime now, Millis demand_delay) {
  const auto asked_for = [&](const mesh::ContentKey& content, Given& mark) {
    const auto model = std::ranges::find(situation.models, content, &mesh::AllocationModel::content);
    if (model == situation.models.end()) return false;
    // Rates are announced in steps, and decay without requests.
    if (now - mark.since < demand_delay) mark.least = model->per_hour;
    const bool more = mark.least && model->per_hour > *mark.least;
    mark.least = std::min(mark.least.value_or(model->per_hour), model->per_hour);
    if (more) return true;
    auto holders = holders_of(situation, content);
    const bool had = now - mark.since < kHeed || std::ranges::includes(mark.holders, holders);
    // A node that is away for a while still holds it.
    for (const auto& id : mark.holders)
      if (std::ranges::find(situation.nodes, id, &mesh::AllocationNode::id) == situation.nodes.end())
        holders.insert(id);
    mark.holders = std::move(holders);
    return !had;
  };
  bool any = false;
  for (auto one = given.begin(); one != given.end();) {
    const bool asked = asked_for(one->first, one->second);
    any = any || asked;
    one = asked ? given.erase(one) : std::next(one);
  }
  return any;
}

void AllotMarks::resolve(const mesh::Catalog& catalog) {
  mesh::HashedSince hashed(catalog);
  rename_keys(hashed, resting_);
  rename_keys(hashed, unloads_);
  rename_keys(hashed, declined_);
  rename_keys(hashed, rests_);
  rename_keys(hashed, splits_);
  for (auto& [key, order] : splits_) order.model = key;
  if (!order_ || !order_->model) return;
  auto& model = *order_->model;
  if (!model.content) {
    const auto found = catalog.find(model.name);
    if (found.model != nullptr) model.content = found.model->content;
  } else {
    model.content = hashed(*model.content);
  }
}

bool AllotMarks::heed(const mesh::Catalog& catalog, const mesh::AllocationInput& situation, MonoTime now) {
  mesh::NodeState before, after;
  add_to(before);
  resolve(catalog);
  heed(resting_, situation, now, Millis(0));  // without requests for long already
  heed(unloads_, situation, now, kDemandDelay);
  std::erase_if(declined_, [now](const auto& one) { return one.second.until <= now; });
  // After a long time without a failure the pause starts again at its minimum.
  std::erase_if(rests_, [now](const auto& one) { return one.second.until + kLongestRest <= now; });
  add_to(after);
  return !(before == after);
}

// An order for a model that no node has is announced without content: this node's memory stays free for the model.
void AllotMarks::add_to(mesh::NodeState& node_state) const {
  node_state.order.reset();
  if (order_) node_state.order = mesh::NodeOrder{order_->model ? order_->model->content : std::nullopt};
  node_state.resting = keys_of(resting_);
  node_state.unloads = keys_of(unloads_);
  node_state.declined = keys_of(declined_);
  node_state.split_orders.clear();
  for (const auto& [model, order] : splits_) node_state.split_orders.push_back(order);
}

std::string AllotMarks::text() const {
  std::string text;
  json::Writer out(text);
  out.begin_object().field("version", 1).field("said", user_ordered_);
  if (order_ && user_ordered_) {
    out.key("order").begin_object();
    if (order_->model) {
      out.field("name", order_->model->name);
      if (order_->model->content) write_key(out, *order_->model->content);
    }
    out.end_object();
  }
  out.key("unloads").begin_array();
  for (const auto& [model, given] : unloads_) {
    out.begin_object();
    write_key(out, model);
    out.end_object();
  }
  out.end_array().end_object();
  return text + '\n';
}

void AllotMarks::read(std::string_view text, MonoTime now) {
  const auto parsed = json::parse(text);
  if (!parsed || json::number_or(*parsed, "version", 0) != 1) return;
  user_ordered_ = json::bool_or(*parsed, "said", false);
  if (const auto* order = json::find(*parsed, "order"); order != nullptr && order->is_object()) {
    order_.emplace();
    const auto name = json::text_or(*order, "name", "");
    if (!name.empty()) order_->model = Named{std::string(name), read_key(*order)};
  }
  const auto* unloads = json::find(*parsed, "unloads");
  if (unloads == nullptr || !unloads->is_array()) return;
  for (const auto& one : unloads->get_array()) {
    if (const auto key = read_key(one)) unload(*key, now);
  }
}

}  // namespace corral::fleet
