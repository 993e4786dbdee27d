#include "mesh/catalog/node_state.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "mesh/catalog/group_entries.h"
#include "mesh/catalog/model_entry.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

// A page is a list of entries: kind (8 bits), length (32 bits), fields. The numbers are the wire's; kinds of later
// versions are skipped.
enum class EntryKind : std::uint8_t {
  node = 1,
  memory = 2,
  model = 3,
  wanted = 4,
  serving = 5,
  demand = 6,
  link = 7,
  copying = 8,
  group = 9,
  share = 10,
  mark = 11
};
constexpr auto kLastKind = EntryKind::mark;

// Models are spread over pages by the hashes of their names, so that a new or removed model changes one page.
constexpr std::size_t kGoodPage = 12 * 1024;
constexpr std::size_t kMaxModelPages = 128;
constexpr std::size_t kMaxModelBytes = 768 * 1024;  // leaves space for the rest of a node state

void append(std::string& page, EntryKind kind, const FieldWriter& fields) {
  ByteWriter(page).number<std::uint8_t>(static_cast<std::uint8_t>(kind)).sized<std::uint32_t>(fields.bytes());
}

std::string_view cut(std::string_view text) { return text.substr(0, kNodeStateLimits.text); }

FieldWriter fields_of_node(const NodeState& node_state) {
  FieldWriter out;
  out.text(1, cut(node_state.name)).number(2, static_cast<std::uint64_t>(node_state.role));
  for (const auto& address : node_state.addresses) out.text(3, to_text(address));
  out.text(4, cut(node_state.version))
      .text(5, cut(node_state.engine))
      .number(6, node_state.minor)
      .number(7, node_state.takes_copies);
  out.number(8, node_state.more_models).number(9, node_state.looking).number(10, node_state.recalled);
  out.number(11, node_state.works);
  for (std::size_t i = 0; i < std::min(node_state.weight_speeds.size(), kNodeStateLimits.weight_speeds); ++i) {
    const auto& speed = node_state.weight_speeds[i];
    out.raw(12, FieldWriter().text(1, cut(speed.type)).number(2, speed.bytes_per_second).bytes());
  }
  return out;
}

FieldWriter fields_of(const MemoryReport& memory) {
  FieldWriter out;
  out.text(1, cut(memory.name)).number(2, memory.gpu).number(3, memory.total).number(4, memory.free);
  return out.number(5, memory.evictable).number(6, memory.lent);
}

FieldWriter fields_of(const WantedModel& wanted) {
  FieldWriter out;
  return out.text(1, wanted.name).text(2, cut(wanted.source));
}

FieldWriter fields_of(const ServedModel& served) {
  FieldWriter out;
  out.text(1, served.name).number(2, static_cast<std::uint64_t>(served.state)).number(3, served.context);
  out.number(4, served.slots).number(5, served.running).number(6, served.waiting).decimal(7, served.tokens_per_second);
  return out.number(8, served.idle_ms).number(9, served.bytes).number(10, served.lent);
}

FieldWriter fields_of(const Demand& demand) {
  FieldWriter out;
  return out.text(1, demand.name).decimal(2, demand.per_hour);
}

FieldWriter fields_of(const LinkReport& link) {
  FieldWriter out;
  return out.raw(1, as_text(link.to.bytes)).number(2, link.round_trip_us).number(3, link.bytes_per_second);
}

FieldWriter fields_of(const CopyingModel& copy) {
  FieldWriter out;
  out.raw(1, as_text(copy.content)).number(2, copy.done).number(3, copy.total).number(4, copy.bytes_per_second);
  return out.number(5, copy.by_allocation);
}

template <typename T>
void append_all(std::string& page, EntryKind kind, const std::vector<T>& values, std::size_t limit) {
  for (std::size_t i = 0; i < std::min(values.size(), limit); ++i) append(page, kind, fields_of(values[i]));
}

// The models within the bounds, sorted by name; the others are counted.
std::vector<ModelOnDisk> sayable(NodeState& node_state) {
  std::map<std::string, const ModelOnDisk*> first, rest;
  const auto is_served = [&](const std::string& name) {
    return std::ranges::find(node_state.serving, name, &ServedModel::name) != node_state.serving.end();
  };
  for (const auto& model : node_state.models) {
    if (!Field{0, model.name}.is_name(kNodeStateLimits.name)) continue;
    (is_served(model.name) ? first : rest).emplace(model.name, &model);
  }
  std::vector<ModelOnDisk> chosen;
  std::size_t bytes = 0;
  for (const auto* part : {&first, &rest}) {
    for (const auto& [name, model] : *part) {
      auto kept = *model;
      std::erase_if(kept.aliases, [](const auto& alias) { return !Field{0, alias}.is_name(kNodeStateLimits.name); });
      kept.aliases.resize(std::min(kept.aliases.size(), kNodeStateLimits.aliases));
      kept.labels.resize(std::min(kept.labels.size(), kNodeStateLimits.labels));
      const auto size = fields_of(kept).bytes().size() + 5;
      if (chosen.size() == kNodeStateLimits.models || bytes + size > kMaxModelBytes) continue;
      bytes += size;
      chosen.push_back(std::move(kept));
    }
  }
  node_state.more_models += node_state.models.size() - chosen.size();
  std::ranges::sort(chosen, {}, &ModelOnDisk::name);
  return chosen;
}

std::vector<std::string> model_pages(const std::vector<ModelOnDisk>& models) {
  for (std::size_t count = 1;; count *= 2) {
    std::vector<std::string> pages(count);
    for (const auto& model : models) {
      const auto place = tagged_hash("page of a model", model.name)[0] % count;
      append(pages[place], EntryKind::model, fields_of(model));
    }
    const auto largest = std::ranges::max(pages, {}, &std::string::size).size();
    if (largest > kGoodPage && count < kMaxModelPages) continue;
    std::erase_if(pages, [](const auto& page) { return page.empty(); });
    return pages;
  }
}

WeightSpeed read_speed(std::string_view bytes) {
  WeightSpeed speed;
  each_field(bytes, [&](const Field& field) {
    if (field.tag == 1) speed.type = field.text(kNodeStateLimits.text);
    if (field.tag == 2) speed.bytes_per_second = field.number(kNodeStateLimits.number);
  });
  return speed;
}

void take_node(std::string_view bytes, NodeState& node_state) {
  each_field(bytes, [&](const Field& field) {
    switch (field.tag) {
      case 1:
        node_state.name = field.text(kNodeStateLimits.text);
        break;
      case 2:
        if (const auto role = field.number(255); role >= 1 && role <= 3) node_state.role = static_cast<Role>(role);
        break;
      case 3:
        if (auto address = parse_address(field.bytes);
            address && node_state.addresses.size() < kNodeStateLimits.addresses)
          node_state.addresses.push_back(std::move(*address));
        break;
      case 4:
        node_state.version = field.text(kNodeStateLimits.text);
        break;
      case 5:
        node_state.engine = field.text(kNodeStateLimits.text);
        break;
      case 6:
        node_state.minor = field.small<std::uint16_t>();
        break;
      case 7:
        node_state.takes_copies = field.flag();
        break;
      case 8:
        node_state.more_models = field.number(kNodeStateLimits.number);
        break;
      case 9:
        node_state.looking = field.flag();
        break;
      case 10:
        node_state.recalled = field.flag();
        break;
      case 11:
        node_state.works = field.flag();
        break;
      case 12:
        if (node_state.weight_speeds.size() < kNodeStateLimits.weight_speeds)
          node_state.weight_speeds.push_back(read_speed(field.bytes));
        break;
      default:
        break;
    }
  });
}

// Free memory and disk change all the time, so they have a page apart from fields that rarely change.
FieldWriter fields_of_disk(const NodeState& node_state) {
  FieldWriter out;
  return out.number(7, node_state.disk_free);
}

MemoryReport read_memory(std::string_view bytes, NodeState& node_state) {
  MemoryReport memory;
  each_field(bytes, [&](const Field& field) {
    if (field.tag == 1) memory.name = field.text(kNodeStateLimits.text);
    if (field.tag == 2) memory.gpu = field.flag();
    if (field.tag == 3) memory.total = field.number(kNodeStateLimits.number);
    if (field.tag == 4) memory.free = field.number(kNodeStateLimits.number);
    if (field.tag == 5) memory.evictable = field.number(kNodeStateLimits.number);
    if (field.tag == 6) memory.lent = field.number(kNodeStateLimits.number);
    if (field.tag == 7) node_state.disk_free = field.number(kNodeStateLimits.number);
  });
  return memory;
}

WantedModel read_wanted(std::string_view bytes) {
  WantedModel wanted;
  each_field(bytes, [&](const Field& field) {
    if (field.tag == 1 && field.is_name(kNodeStateLimits.name)) wanted.name = std::string(field.bytes);
    if (field.tag == 2) wanted.source = field.text(kNodeStateLimits.text);
  });
  return wanted;
}

ServedModel read_served(std::string_view bytes) {
  ServedModel served;
  each_field(bytes, [&](const Field& field) {
    if (field.tag == 1 && field.is_name(kNodeStateLimits.name)) served.name = std::string(field.bytes);
    if (field.tag == 2) {
      const auto state = field.number(255);
      served.state = state >= 1 && state <= 3 ? static_cast<ServingState>(state) : ServingState::draining;
    }
    if (field.tag == 3) served.context = field.number(kNodeStateLimits.number);
    if (field.tag == 4) served.slots = field.small<std::uint32_t>();
    if (field.tag == 5) served.running = field.small<std::uint32_t>();
    if (field.tag == 6) served.waiting = field.small<std::uint32_t>();
    if (field.tag == 7) served.tokens_per_second = field.decimal();
    if (field.tag == 8) served.idle_ms = field.number(kNodeStateLimits.number);
    if (field.tag == 9) served.bytes = field.number(kNodeStateLimits.number);
    if (field.tag == 10) served.lent = field.flag();
  });
  return served;
}

Demand read_demand(std::string_view bytes) {
  Demand demand;
  each_field(bytes, [&](const Field& field) {
    if (field.tag == 1 && field.is_name(kNodeStateLimits.name)) demand.name = std::string(field.bytes);
    if (field.tag == 2) demand.per_hour = field.decimal();
  });
  return demand;
}

LinkReport read_link(std::string_view bytes) {
  LinkReport link;
  each_field(bytes, [&](const Field& field) {
    if (field.tag == 1 && field.bytes.size() == sizeof(Sha256)) link.to.bytes = ByteReader(field.bytes).fixed<32>();
    if (field.tag == 2) link.round_trip_us = field.number(kNodeStateLimits.number);
    if (field.tag == 3) link.bytes_per_second = field.number(kNodeStateLimits.number);
  });
  return link;
}

void take_copying(std::string_view bytes, NodeState& node_state) {
  CopyingModel copy;
  bool named = false;
  each_field(bytes, [&](const Field& field) {
    named = named || (field.tag == 1 && field.bytes.size() == sizeof(Sha256));
    if (field.tag == 1 && named) copy.content = ByteReader(field.bytes).fixed<32>();
    if (field.tag == 2) copy.done = field.number(kNodeStateLimits.number);
    if (field.tag == 3) copy.total = field.number(kNodeStateLimits.number);
    if (field.tag == 4) copy.bytes_per_second = field.number(kNodeStateLimits.number);
    if (field.tag == 5) copy.by_allocation = field.flag();
  });
  copy.done = std::min(copy.done, copy.total);
  if (named && node_state.copying.size() < kNodeStateLimits.copying) node_state.copying.push_back(copy);
}

template <typename T>
void keep(std::vector<T>& list, T value, std::size_t limit) {
  if (list.size() < limit) list.push_back(std::move(value));
}
template <typename T>
void keep_named(std::vector<T>& list, T value, std::size_t limit) {
  if (!value.name.empty()) keep(list, std::move(value), limit);
}

void take_entry(EntryKind kind, std::string_view bytes, NodeState& node_state) {
  switch (kind) {
    case EntryKind::node:
      take_node(bytes, node_state);
      break;
    case EntryKind::memory:
      if (auto memory = read_memory(bytes, node_state); !memory.name.empty())
        keep(node_state.memory, std::move(memory), kNodeStateLimits.memory);
      break;
    case EntryKind::model:
      keep_named(node_state.models, read_model(bytes), kNodeStateLimits.models);
      break;
    case EntryKind::wanted:
      keep_named(node_state.wants, read_wanted(bytes), kNodeStateLimits.wants);
      break;
    case EntryKind::serving:
      keep_named(node_state.serving, read_served(bytes), kNodeStateLimits.serving);
      break;
    case EntryKind::demand:
      keep_named(node_state.demand, read_demand(bytes), kNodeStateLimits.demand);
      break;
    case EntryKind::link:
      keep(node_state.links, read_link(bytes), kNodeStateLimits.links);
      break;
    case EntryKind::copying:
      take_copying(bytes, node_state);
      break;
    case EntryKind::group:
      if (auto group = read_group(bytes)) keep(node_state.groups, std::move(*group), kNodeStateLimits.groups);
      break;
    case EntryKind::share:
      if (auto share = read_share(bytes)) keep(node_state.shares, *share, kNodeStateLimits.shares);
      break;
    case EntryKind::mark:
      if (auto mark = read_mark(bytes)) take_mark(std::move(*mark), node_state);
      break;
  }
}

// Each name once; of two entries with one name the first is kept.
template <typename T>
void sort_by_name(std::vector<T>& list) {
  std::map<std::string, T> by_name;
  for (auto& value : list) by_name.try_emplace(value.name, std::move(value));
  list.clear();
  for (auto& [name, value] : by_name) list.push_back(std::move(value));
}

// Each model once; the first entry is kept.
template <typename T, typename Key>
void sort_by_model(std::vector<T>& list, Key key) {
  std::map<ContentKey, T> by_model;
  for (auto& value : list) {
    const ContentKey model = std::invoke(key, value);
    by_model.try_emplace(model, std::move(value));
  }
  list.clear();
  for (auto& [model, value] : by_model) list.push_back(std::move(value));
}

std::uint64_t down_to(std::uint64_t value, std::uint64_t step) { return value / step * step; }

// Keeps two significant binary digits: steps of a third to a half.
std::uint64_t roughly(std::uint64_t value) {
  const int digits = std::bit_width(value);
  return digits <= 2 ? value : value >> (digits - 2) << (digits - 2);
}
double roughly(double value) { return static_cast<double>(roughly(static_cast<std::uint64_t>(value * 64))) / 64; }
// Five significant binary digits, rounded to the nearest: for numbers that other nodes compute with.
double nearly(double value) {
  if (!(value > 0)) return 0;
  const double unit = std::exp2(std::floor(std::log2(value)) - 4);
  return std::round(value / unit) * unit;
}

}  // namespace

std::string_view name_of(Role role) {
  switch (role) {
    case Role::worker:
      return "worker";
    case Role::client:
      return "client";
    case Role::member:
      break;
  }
  return "member";
}

std::optional<Role> parse_role(std::string_view name) {
  for (const auto role : {Role::member, Role::worker, Role::client}) {
    if (name_of(role) == name) return role;
  }
  return std::nullopt;
}

std::string_view name_of(ServingState state) {
  switch (state) {
    case ServingState::loading:
      return "loading";
    case ServingState::draining:
      return "draining";
    case ServingState::ready:
      break;
  }
  return "ready";
}

NodeState rounded(NodeState node_state) {
  constexpr std::uint64_t kMiB = 1024 * 1024;
  node_state.disk_free = down_to(node_state.disk_free, 256 * kMiB);
  for (auto& memory : node_state.memory) {
    memory.free = down_to(memory.free, 32 * kMiB);
    memory.evictable = down_to(memory.evictable, 32 * kMiB);
  }
  for (auto& model : node_state.models) model.tokens_per_second = nearly(model.tokens_per_second);
  for (auto& served : node_state.serving) {
    served.tokens_per_second = roughly(served.tokens_per_second);
    served.bytes = down_to(served.bytes, kMiB);
  }
  for (auto& link : node_state.links) {
    link.round_trip_us = roughly(link.round_trip_us);
    link.bytes_per_second = roughly(link.bytes_per_second);
  }
  for (auto& copy : node_state.copying) {
    constexpr std::uint64_t kSteps = 20;
    copy.done = down_to(copy.done, std::max<std::uint64_t>(copy.total / kSteps, 1));
    copy.bytes_per_second = roughly(copy.bytes_per_second);
  }
  for (auto& group : node_state.groups) group.tokens_per_second = nearly(group.tokens_per_second);
  return node_state;
}

std::vector<std::string> encode_pages(NodeState node_state) {
  const auto models = sayable(node_state);
  auto pages = model_pages(models);
  std::string node, memory, now, links, groups, marks;
  append(node, EntryKind::node, fields_of_node(node_state));
  append_all(node, EntryKind::wanted, node_state.wants, kNodeStateLimits.wants);
  append(memory, EntryKind::memory, fields_of_disk(node_state));
  append_all(memory, EntryKind::memory, node_state.memory, kNodeStateLimits.memory);
  append_all(now, EntryKind::serving, node_state.serving, kNodeStateLimits.serving);
  append_all(now, EntryKind::copying, node_state.copying, kNodeStateLimits.copying);
  append_all(links, EntryKind::link, node_state.links, kNodeStateLimits.links);
  append_all(links, EntryKind::demand, node_state.demand, kNodeStateLimits.demand);
  append_all(groups, EntryKind::group, node_state.groups, kNodeStateLimits.groups);
  append_all(groups, EntryKind::share, node_state.shares, kNodeStateLimits.shares);
  for (const auto& mark : marks_of(node_state)) append(marks, EntryKind::mark, fields_of(mark));
  for (auto* page : {&marks, &groups, &now, &links, &memory, &node}) {
    if (!page->empty()) pages.insert(pages.begin(), std::move(*page));
  }
  return pages;
}

Result<NodeState> decode_pages(const std::vector<std::string_view>& pages) {
  NodeState node_state;
  for (const auto page : pages) {
    ByteReader in(page);
    while (in.ok() && !in.rest().empty()) {
      const auto kind = static_cast<EntryKind>(in.number<std::uint8_t>());
      const auto bytes = in.sized<std::uint32_t>();
      const bool known = kind >= EntryKind::node && kind <= kLastKind;
      if (!in.ok() || (known && !each_field(bytes, [](const Field&) {})))
        return fail(errc::malformed, "a page of an announcement is cut off");
      if (known) take_entry(kind, bytes, node_state);
    }
  }
  sort_by_name(node_state.models);
  sort_by_name(node_state.wants);
  sort_by_name(node_state.serving);
  sort_by_name(node_state.demand);
  std::ranges::sort(node_state.links, {}, &LinkReport::to);
  sort_by_model(node_state.groups, &GroupReport::model);
  sort_by_model(node_state.split_orders, &SplitOrder::model);
  sort_by_model(node_state.resting, std::identity());
  sort_by_model(node_state.unloads, std::identity());
  sort_by_model(node_state.declined, std::identity());
  std::ranges::sort(node_state.shares, {}, [](const ShareReport& share) { return std::tie(share.host, share.model); });
  return node_state;
}

}  // namespace corral::mesh
