#include "engine/pass/pass.h"

#include <algorithm>
#include <utility>

#include "engine/pass/prompt_budget.h"

namespace corral::engine {

void Pass::clear() {
  items.clear();
  drafts.clear();
  padding.clear();
  measuring = media = alone = false;
}

bool Pass::has(const Session& session) const {
  return std::ranges::find(items, &session, &PassItem::session) != items.end();
}

bool Pass::streams_only() const {
  return std::ranges::all_of(items, [](const PassItem& item) { return item.tokens == 1 && item.session->decoding(); });
}

std::uint32_t Pass::rows() const {
  std::uint32_t rows = 0;
  for (const PassItem& item : items) rows += item.tokens + item.drafted + item.padding;
  return rows;
}

bool Pass::drop_extras() {
  bool any = !padding.empty();
  padding.clear();
  for (PassItem& item : items) any |= std::exchange(item.drafted, 0u) + std::exchange(item.padding, 0u) > 0;
  return any;
}

PassView view_of(const Pass& pass, const SessionTable& sessions) {
  PassView view{.sessions = {},
                .limits = pass.limits,
                .padding = static_cast<std::uint32_t>(pass.padding.size()),
                .alone = pass.alone};
  for (const Session* session : sessions.active()) {
    PassView::Row& row = view.sessions.emplace_back();
    row.session = session->shared->id;
    row.state = runnable_view(*session);
    row.other = !pass.items.empty() && session->shared->adapters != pass.items.front().session->shared->adapters;
    const auto item = std::ranges::find(pass.items, session, &PassItem::session);
    if (item == pass.items.end()) continue;
    row.tokens = item->tokens;
    row.drafts = item->drafted + item->padding;
  }
  return view;
}

}  // namespace corral::engine
