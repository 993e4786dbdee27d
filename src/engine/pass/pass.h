// One forward pass on its way: who is in it, with what. Filled by PassPlanner and Speculator, computed by PassRunner.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/pass/padding_rows.h"
#include "engine/schedule/drafter.h"
#include "engine/schedule/pass_view.h"
#include "engine/schedule/scheduler.h"
#include "engine/session/session.h"
#include "engine/session/session_table.h"

namespace corral::engine {

struct PassItem {
  Session* session = nullptr;
  std::uint32_t tokens = 0;       // so many of its pending ones
  std::int32_t row = -1;          // batch index of the last pending one, whose logits are wanted; -1: not in this pass
  std::uint32_t drafted = 0;      // guesses behind it, in the rows that follow
  std::uint32_t first_draft = 0;  // in Pass::guesses
  std::uint32_t padding = 0;      // rows behind those that only make all sessions' rows equally many
};

struct Pass {
  std::vector<PassItem> items;
  std::vector<DraftToken> drafts;
  std::vector<PaddingRow> padding;  // behind the rows of the items
  BatchLimits limits;
  bool measuring = false;  // it is to show what running streams take
  bool alone = false;      // a pass failed, and one of those in it computes by itself: no limit counts

  void clear();
  bool has(const Session& session) const;
  // Each of its sessions has sampled the token that it computes.
  bool streams_only() const;
  // Of the items, without padding rows.
  std::uint32_t rows() const;
  // Takes out what nobody waits for, guesses and rows that fill it up; false if there was nothing.
  bool drop_extras();
};

PassView view_of(const Pass& pass, const SessionTable& sessions);

}  // namespace corral::engine
