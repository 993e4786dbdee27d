// This machine as a node of a mesh: GET mesh, POST mesh/create, join and leave; GET and POST mesh/tokens, DELETE
// mesh/tokens/{id}; POST mesh/revoke; POST mesh/pull, GET mesh/copies and DELETE one; GET mesh/nodes, mesh/models,
// mesh/why/{model...} and mesh/doctor. All for admins. Only the answer that creates a token has its text.
#include <algorithm>
#include <deque>
#include <iterator>

#include <fmt/format.h>

#include "api/admin/allotment_json.h"
#include "api/admin/mesh_json.h"
#include "api/admin/routes.h"
#include "api/base/command_body.h"
#include "api/base/core_routes.h"
#include "async/spawned_task.h"
#include "base/mutex.h"
#include "dialects/error_filter.h"
#include "fleet/base/errors.h"
#include "fleet/base/not_found.h"
#include "fleet/node/member_runtime.h"
#include "http/sse.h"
#include "json/writer.h"
#include "mesh/catalog/choice.h"
#include "mesh/members/join_token.h"
#include "protocol/fields.h"
#include "protocol/http_error.h"

namespace corral::api {
namespace {

using fleet::MemberRuntime;
using protocol::Field;

constexpr Millis kStepInterval{50};
constexpr Millis kCopyInterval{250}, kCopySilence{1'000};
constexpr std::int64_t kUsualLifetime = 3'600;  // seconds

constexpr Field kJoinFields[] = {
    {.name = "token", .kinds = protocol::kString, .required = true, .min_size = 1, .max_bytes = mesh::kLongestToken},
    {.name = "stream", .kinds = protocol::kBoolean},
};
constexpr Field kTokenFields[] = {
    {.name = "expires_in", .kinds = protocol::kInteger, .min = 1, .max = 604'800},
};
constexpr Field kPullFields[] = {
    {.name = "model", .kinds = protocol::kString, .required = true, .min_size = 1},
    {.name = "stream", .kinds = protocol::kBoolean},
};
constexpr Field kRevokeFields[] = {
    {.name = "node", .kinds = protocol::kString, .required = true, .min_size = 1},
    {.name = "with_admitted", .kinds = protocol::kBoolean},
};

template <const auto& kFields>
const protocol::FieldTable& table() {
  static const protocol::FieldTable instance(kFields);
  return instance;
}

http::Response answer(std::string body) { return http::Response::json(200, std::move(body)); }

std::string mesh_body(const fleet::MeshView& view) {
  std::string body;
  json::Writer out(body);
  out.begin_object();
  write_mesh(out, view);
  write_groups(out, view);
  out.end_object();
  return body;
}

std::string_view state_of(const mesh::IssuedToken& token, WallTime now) {
  using State = mesh::IssuedToken::State;
  if (token.state == State::used) return "used";
  if (token.state == State::withdrawn) return "withdrawn";
  return token.expires <= now ? "expired" : "open";
}

void write_token(json::Writer& out, const mesh::IssuedToken& token, WallTime now) {
  out.field("id", mesh::short_text(token.id)).field("state", state_of(token, now));
  out.field("issued", epoch_millis(token.issued)).field("expires", epoch_millis(token.expires)).key("used_by");
  token.state == mesh::IssuedToken::State::used ? out.value(mesh::to_text(token.used_by)) : out.null();
}

async::Task<http::Response> status(fleet::Node& node) { co_return answer(mesh_body(*node.view())); }

async::Task<http::Response> create(fleet::Node& node) {
  const auto view = co_await node.create();
  if (!view) co_return dialects::error_response(view.error());
  co_return answer(mesh_body(**view));
}

using Joining = async::SpawnedTask<Result<fleet::MeshViewPtr>>;

// Passes the steps of a join from the loop of the mesh to the loop of the request.
struct Steps {
  Mutex mutex;
  std::deque<fleet::JoinProgress> steps GUARDED_BY(mutex);
};

// The join as events: one for each step, then complete or error. Destroying them cancels the join.
class JoinEvents final : public http::BodySource {
 public:
  JoinEvents(AdminContext& context, std::shared_ptr<Steps> steps, std::unique_ptr<Joining> joining)
      : context_(context), steps_(std::move(steps)), joining_(std::move(joining)) {}

  async::Task<Result<std::string_view>> read() override {
    if (!joining_) co_return std::string_view();
    text_.clear();
    while (text_.empty()) {
      const bool done = co_await joining_->wait(context_.core.timers, kStepInterval);
      append_steps();
      if (done) append_end();
    }
    co_return text_;
  }

 private:
  void append_steps() {
    const MutexLock lock(steps_->mutex);
    for (const auto& step : steps_->steps) {
      std::string payload;
      json::Writer out(payload);
      out.begin_object().field("step", mesh::name_of(step.step)).field("address", mesh::to_text(step.address));
      out.field("limit_ms", step.limit.count()).end_object();
      text_ += http::sse_event("step", payload);
    }
    steps_->steps.clear();
  }
  void append_end() {
    const auto result = joining_->take();
    joining_.reset();
    text_ += result ? http::sse_event("complete", mesh_body(**result))
                    : http::sse_event("error", protocol::error_body(result.error()));
  }

  AdminContext& context_;
  const std::shared_ptr<Steps> steps_;
  std::unique_ptr<Joining> joining_;
  std::string text_;
};

async::Task<http::Response> join(AdminContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, table<kJoinFields>());
  if (!peek) co_return dialects::error_response(peek.error());
  auto token = mesh::parse_token(peek->root().find("token").as_string());
  if (!token) {
    token.error().param = "token";
    co_return dialects::error_response(token.error());
  }
  const auto stream = peek->root().find("stream");
  if (!stream.found() || !stream.as_bool()) {
    auto joining = context.core.node->join(std::move(*token), {});
    const auto view = co_await std::move(joining);
    if (!view) co_return dialects::error_response(view.error());
    co_return answer(mesh_body(**view));
  }
  const auto steps = std::make_shared<Steps>();
  auto joining = context.core.node->join(std::move(*token), [steps](fleet::JoinProgress progress) {
    const MutexLock lock(steps->mutex);
    steps->steps.push_back(std::move(progress));
  });
  const auto executor = co_await async::asio::this_coro::executor;
  auto beside = std::make_unique<Joining>(executor, "join", std::move(joining));
  co_return http::Response::event_stream(std::make_unique<JoinEvents>(context, steps, std::move(beside)));
}

async::Task<http::Response> leave(fleet::Node& node) {
  const auto left = co_await node.leave();
  if (!left) co_return dialects::error_response(left.error());
  co_return answer(mesh_body(*node.view()));
}

async::Task<http::Response> tokens(AdminContext& context) {
  auto listing = context.core.node->ask(&MemberRuntime::tokens);
  const auto listed = co_await std::move(listing);
  if (!listed) co_return dialects::error_response(listed.error());
  std::string body;
  json::Writer out(body);
  out.begin_object().key("tokens").begin_array();
  for (const auto& token : *listed) {
    out.begin_object();
    write_token(out, token, context.core.timers.wall_now());
    out.end_object();
  }
  out.end_array().end_object();
  co_return answer(std::move(body));
}

async::Task<http::Response> make_token(AdminContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, table<kTokenFields>(), true);
  if (!peek) co_return dialects::error_response(peek.error());
  const auto wanted = peek->root().find("expires_in");
  const std::chrono::seconds lifetime(wanted.found() && !wanted.is_null() ? wanted.as_integer() : kUsualLifetime);
  auto inviting = context.core.node->ask(&MemberRuntime::invite, lifetime);
  const auto made = co_await std::move(inviting);
  if (!made) co_return dialects::error_response(made.error());
  std::string body;
  json::Writer out(body);
  out.begin_object().field("token", made->text);
  write_token(out, made->token, context.core.timers.wall_now());
  out.key("addresses").begin_array();
  for (const auto& address : made->addresses) out.value(mesh::to_text(address));
  out.end_array().end_object();
  co_return answer(std::move(body));
}

async::Task<http::Response> withdraw(fleet::Node& node, std::string id) {
  auto withdrawing = node.ask(&MemberRuntime::withdraw, id);
  const auto withdrawn = co_await std::move(withdrawing);
  if (!withdrawn) co_return dialects::error_response(withdrawn.error());
  std::string body;
  json::Writer(body).begin_object().field("status", "success").field("id", id).end_object();
  co_return answer(std::move(body));
}

async::Task<http::Response> revoke(AdminContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, table<kRevokeFields>());
  if (!peek) co_return dialects::error_response(peek.error());
  const auto all = peek->root().find("with_admitted");
  auto revoking = context.core.node->ask(&MemberRuntime::revoke, std::string(peek->root().find("node").as_string()),
                                         all.found() && all.as_bool());
  const auto revoked = co_await std::move(revoking);
  if (!revoked) co_return dialects::error_response(revoked.error());
  std::string body;
  json::Writer(body).begin_object().field("status", "success").field("node", mesh::to_text(*revoked)).end_object();
  co_return answer(std::move(body));
}

// Answers from the current view, without requests to other nodes.
using Write = void (*)(json::Writer&, const fleet::MeshView&);
async::Task<http::Response> show(fleet::Node& node, Write write) {
  const auto view = node.view();
  std::string body;
  json::Writer out(body);
  out.begin_object().field("status", fleet::name_of(view->phase));
  write(out, *view);
  out.end_object();
  co_return answer(std::move(body));
}

// A node serves models of its own disk, and uses other nodes only if it lacks memory
// (fleet/requests/mesh_lease_provider.h).
void prefer_own(mesh::Choice& choice, const mesh::NodeId& self) {
  const auto own = std::ranges::find(choice.candidates, self, &mesh::Candidate::node);
  if (own == choice.candidates.end() || own->rank == mesh::Rank::none) return;
  choice.node = self;
  choice.rank = own->rank;
  choice.shortage.reset();
}

// The node that a request for this model would get now, and why not another one.
async::Task<http::Response> why(AdminContext& context, std::string model) {
  const auto view = context.core.node->view();
  // A node that is still joining knows members, but isn't connected with them.
  const bool outside = view->phase == fleet::MeshPhase::none || view->phase == fleet::MeshPhase::joining;
  if (!view->catalog || outside) {
    const Error error(make_error_code(fleet::errc::no_mesh), "this node is in no mesh: it serves all requests itself");
    co_return dialects::error_response(error);
  }
  const auto found = view->catalog->find(model);
  if (found.model == nullptr || !found.away.empty()) {
    const auto error = fleet::why_not_found(*view->catalog, model, found, context.core.timers.now());
    co_return dialects::error_response(error);
  }
  mesh::ChoiceQuery query;
  query.own_too = true;
  auto choice = mesh::choose(*view->catalog, *found.model, query);
  if (found.model->is_here()) prefer_own(choice, view->self);
  std::string body;
  json::Writer out(body);
  out.begin_object().field("model", found.model->name).field("status", mesh::name_of(found.model->status));
  write_choice(out, *view, choice);
  write_coming_split(out, *view, *found.model, choice);
  write_reasons(out, *view, *found.model);
  out.end_object();
  co_return answer(std::move(body));
}

// Findings about the files of this server's configuration.
std::vector<fleet::Finding> configuration_findings(const AdminContext& context) {
  std::vector<fleet::Finding> findings;
  const auto add = [&](std::string text) {
    findings.push_back({.verdict = fleet::CheckStatus::warning, .step = "configuration", .text = std::move(text)});
  };
  if (context.core.settings != nullptr && !context.core.settings->problem().empty())
    add(context.core.settings->problem());
  if (!context.backend_problems) return findings;
  for (auto& problem : context.backend_problems()) add(std::move(problem));
  return findings;
}

async::Task<http::Response> doctor(AdminContext& context) {
  auto findings = co_await context.core.node->doctor();
  std::ranges::move(configuration_findings(context), std::back_inserter(findings));
  std::string body;
  json::Writer out(body);
  out.begin_object().key("findings").begin_array();
  bool broken = false;
  for (const auto& finding : findings) {
    broken = broken || finding.verdict == fleet::CheckStatus::broken;
    out.begin_object().field("verdict", fleet::name_of(finding.verdict)).field("step", finding.step).key("node");
    finding.node.empty() ? out.null() : out.value(finding.node);
    out.field("text", finding.text).end_object();
  }
  out.end_array().field("healthy", !broken).end_object();
  co_return answer(std::move(body));
}

std::string copy_body(const fleet::MeshView& view, const fleet::CopyView& copy) {
  std::string text;
  json::Writer out(text);
  out.begin_object();
  write_copy(out, view, copy);
  out.end_object();
  return text;
}

// A copy as events: progress from time to time, then complete or error. The copy continues without a listener.
class CopyEvents final : public http::BodySource {
 public:
  CopyEvents(AdminContext& context, fleet::CopyView copy) : context_(context), copy_(std::move(copy)) {}

  async::Task<Result<std::string_view>> read() override {
    if (ended_) co_return std::string_view();
    const auto silent_until = context_.core.timers.now() + kCopySilence;
    while (true) {
      const auto view = context_.core.node->view();
      const auto now = std::ranges::find(view->copies, copy_.content, &fleet::CopyView::content);
      if (now == view->copies.end()) {
        co_return end("error", given_up());
      } else if (now->state == fleet::CopyState::done) {
        co_return end("complete", copy_body(*view, *now));
      } else if (now->state == fleet::CopyState::failed) {
        co_return end("error", protocol::error_body({make_error_code(fleet::errc::copy_failed), now->problem}));
      } else if (!std::exchange(sent_, true) || now->done != copy_.done || now->state != copy_.state) {
        copy_ = *now;
        text_ = http::sse_event("progress", copy_body(*view, copy_));
        co_return text_;
      }
      if (context_.core.timers.now() >= silent_until) co_return http::kSsePing;
      co_await context_.core.timers.sleep_for(kCopyInterval);
    }
  }

 private:
  std::string given_up() const {
    const auto text = fmt::format("the copy of '{}' was cancelled", copy_.model);
    return protocol::error_body({make_error_code(fleet::errc::copy_failed), text});
  }
  std::string_view end(std::string_view event, const std::string& body) {
    ended_ = true;
    text_ = http::sse_event(event, body);
    return text_;
  }

  AdminContext& context_;
  fleet::CopyView copy_;  // as of the last event
  bool sent_ = false, ended_ = false;
  std::string text_;
};

// Orders the copy. Without events the answer comes at once, and mesh/copies shows the progress.
async::Task<http::Response> pull(AdminContext& context, http::Request request) {
  const auto peek = co_await checked_body(context.bodies, request, table<kPullFields>());
  if (!peek) co_return dialects::error_response(peek.error());
  std::string model(peek->root().find("model").as_string());
  const auto stream = peek->root().find("stream");
  auto ordering = context.core.node->ask(&MemberRuntime::copy, std::move(model));
  const auto ordered = co_await std::move(ordering);
  if (!ordered) co_return dialects::error_response(ordered.error());
  if (stream.found() && stream.as_bool()) {
    co_return http::Response::event_stream(std::make_unique<CopyEvents>(context, *ordered));
  }
  co_return http::Response::json(202, copy_body(*context.core.node->view(), *ordered));
}

async::Task<http::Response> cancel_copy(fleet::Node& node, std::string model) {
  auto cancelling = node.ask(&MemberRuntime::cancel_copy, std::move(model));
  const auto done = co_await std::move(cancelling);
  if (!done) co_return dialects::error_response(done.error());
  co_return answer(R"({"cancelled":true})");
}

}  // namespace

void add_mesh(std::vector<http::Route>& routes, AdminContext& context) {
  const auto add = [&](const char* method, std::string_view path, auto handle) {
    add_core(routes, method, path, [&context, handle](http::Request request, http::PathParams params) {
      return handle(context, std::move(request), std::move(params));
    });
  };
  using Request = http::Request;
  using Params = http::PathParams;
  add("GET", "mesh", [](AdminContext& with, Request, Params) { return status(*with.core.node); });
  add("POST", "mesh/create", [](AdminContext& with, Request, Params) { return create(*with.core.node); });
  add("POST", "mesh/join", [](AdminContext& with, Request request, Params) { return join(with, std::move(request)); });
  add("POST", "mesh/leave", [](AdminContext& with, Request, Params) { return leave(*with.core.node); });
  add("GET", "mesh/tokens", [](AdminContext& with, Request, Params) { return tokens(with); });
  add("POST", "mesh/tokens",
      [](AdminContext& with, Request request, Params) { return make_token(with, std::move(request)); });
  add("DELETE", "mesh/tokens/{id}",
      [](AdminContext& with, Request, Params params) { return withdraw(*with.core.node, std::move(params["id"])); });
  add("POST", "mesh/revoke",
      [](AdminContext& with, Request request, Params) { return revoke(with, std::move(request)); });
  add("POST", "mesh/pull", [](AdminContext& with, Request request, Params) { return pull(with, std::move(request)); });
  add("GET", "mesh/copies",
      [](AdminContext& with, Request, Params) { return show(*with.core.node, write_copies_here); });
  add("DELETE", "mesh/copies/{model...}", [](AdminContext& with, Request, Params params) {
    return cancel_copy(*with.core.node, std::move(params["model"]));
  });
  add("GET", "mesh/nodes", [](AdminContext& with, Request, Params) { return show(*with.core.node, write_nodes); });
  add("GET", "mesh/doctor", [](AdminContext& with, Request, Params) { return doctor(with); });
  add("GET", "mesh/why/{model...}",
      [](AdminContext& with, Request, Params params) { return why(with, std::move(params["model"])); });
  add("GET", "mesh/models",
      [](AdminContext& with, Request, Params) { return show(*with.core.node, write_mesh_models); });
}

}  // namespace corral::api
