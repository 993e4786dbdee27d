#include "app/request_reports.h"

#include <utility>

namespace corral::app {

using backends::EngineRequest;

// One request, from its reading to its end.
class RequestReports::Report {
 public:
  Report(const Lines& lines, std::string id) : lines_(lines), id_(std::move(id)) {}
  ~Report() {
    if (begun_) lines_.post({id_, EngineRequest::State::ended});
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  async::Task<void> begin() {
    begun_ = true;
    return lines_.write({id_, EngineRequest::State::read});
  }
  async::Task<void> end() {
    begun_ = false;
    return lines_.write({id_, EngineRequest::State::ended});
  }
  bool begun() const { return begun_; }

 private:
  const Lines& lines_;
  const std::string id_;
  bool begun_ = false;
};

// The end is reported before the reader gets it: if the process is killed afterwards, the request is not a running one.
// running.
class RequestReports::ReportedBody final : public http::BodySource {
 public:
  ReportedBody(std::unique_ptr<http::BodySource> answer, std::unique_ptr<Report> report)
      : report_(std::move(report)), answer_(std::move(answer)) {}

  async::Task<Result<std::string_view>> read() override {
    const auto piece = co_await answer_->read();
    const bool ended = !piece || piece->empty();
    if (ended && report_->begun()) co_await report_->end();
    co_return piece;
  }
  std::string_view take_ready() override { return answer_->take_ready(); }
  void abort() override { answer_->abort(); }
  std::optional<std::uint64_t> length() const override { return answer_->length(); }

 private:
  const std::unique_ptr<Report> report_;  // reports the end after the response
  const std::unique_ptr<http::BodySource> answer_;
};

async::Task<http::Response> RequestReports::handle(http::Request request) {
  auto report = std::make_unique<Report>(lines_, request.id.value());
  // Other methods only read state.
  const bool works = request.head.method == "POST";
  if (works) co_await report->begin();
  auto response = co_await inner_.handle(std::move(request));
  if (!works) co_return response;
  if (!response.body.streaming()) {
    co_await report->end();
    co_return response;
  }
  response.body = http::Body(std::make_unique<ReportedBody>(response.body.take_source(), std::move(report)));
  co_return response;
}

}  // namespace corral::app
