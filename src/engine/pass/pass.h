// One forward pass: its sessions and rows. PassPlanner and Speculator fill it, PassRunner computes it.
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
  std::uint32_t tokens = 0;       // number of its pending tokens in the pass
  std::int32_t row = -1;          // batch index of the last pending token, if its logits are needed; -1: it is not in
                                  // this pass
  std::uint32_t drafted = 0;      // draft tokens, in the rows behind it
  std::uint32_t first_draft = 0;  // in Pass::drafts
  std::uint32_t padding = 0;      // padding rows behind those, so that all sessions have as many rows
};

struct Pass {
  std::vector<PassItem> items;
  std::vector<DraftToken> drafts;
  std::vector<PaddingRow> padding;  // behind the rows of the items
  BatchLimits limits;
  bool measuring = false;  // measures the time of running streams
  bool media = false;      // its only session computes cells of a picture or sound
  bool alone = false;      // a pass failed, and one of its sessions computes alone: no limit applies

  void clear();
  bool has(const Session& session) const;
  // All its sessions decode: each computes a token that it sampled.
  bool streams_only() const;
  // Of the items, without padding rows.
  std::uint32_t rows() const;
  // Removes draft tokens and padding rows; false if there were none.
  bool drop_extras();
};

PassView view_of(const Pass& pass, const SessionTable& sessions);

}  // namespace corral::engine
