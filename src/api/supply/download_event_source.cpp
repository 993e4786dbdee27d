#include "api/supply/download_event_source.h"

#include <utility>
#include <vector>

#include "api/supply/download_json.h"

namespace corral::api {
namespace {

using downloads::DownloadState;

constexpr std::string_view kDownload = "download";

class DownloadNotice final : public router::Notice {
 public:
  explicit DownloadNotice(DownloadEventSource::Row row) : row_(std::move(row)) {}
  std::string_view name() const override { return kDownload; }
  void write(json::Writer& out) const override { write_download(out, *row_, {}, false); }

 private:
  const DownloadEventSource::Row row_;
};

class DownloadsNotice final : public router::Notice {
 public:
  explicit DownloadsNotice(std::vector<DownloadEventSource::Row> rows) : rows_(std::move(rows)) {}
  std::string_view name() const override { return kDownload; }
  void write(json::Writer& out) const override {
    out.key("downloads").begin_array();
    for (const auto& row : rows_) {
      out.begin_object();
      write_download(out, *row, {}, false);
      out.end_object();
    }
    out.end_array();
  }

 private:
  const std::vector<DownloadEventSource::Row> rows_;
};

}  // namespace

void DownloadEventSource::changed(Row row) {
  const auto state = row->view.state;
  {
    const MutexLock lock(mutex_);
    const bool over =
        state == DownloadState::done || state == DownloadState::cancelled || state == DownloadState::failed;
    over ? void(rows_.erase(row->view.id)) : void(rows_[row->view.id] = row);
  }
  notify_(std::make_shared<DownloadNotice>(std::move(row)));
}

router::NoticePtr DownloadEventSource::state() const {
  const MutexLock lock(mutex_);
  std::vector<Row> rows;
  for (const auto& [id, row] : rows_) rows.push_back(row);
  return std::make_shared<DownloadsNotice>(std::move(rows));
}

}  // namespace corral::api
