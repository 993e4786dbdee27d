// Start and end of an engine, and the table of its sessions.
#include "engine/service/inference_engine.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <utility>

#include <fmt/core.h>

#include "base/heap.h"
#include "base/log.h"
#include "engine/sample/sampler.h"
#include "engine/service/inference_engine_impl.h"

namespace corral::engine {

InferenceEngine::InferenceEngine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

InferenceEngine::~InferenceEngine() { impl_->stop(); }

void InferenceEngine::Impl::close() {
  for (auto& worker : workers) worker->in_flight().close();
  for (auto& pooler : poolers) pooler->in_flight().close();
}

bool InferenceEngine::drain(MonoTime deadline) {
  impl_->close();
  bool all = true;
  for (auto& worker : impl_->workers) all = worker->in_flight().wait_until_empty(deadline) && all;
  for (auto& pooler : impl_->poolers) all = pooler->in_flight().wait_until_empty(deadline) && all;
  return all;
}

void InferenceEngine::shutdown() {
  impl_->close();
  impl_->stop();
}

void InferenceEngine::Impl::stop() {
  std::call_once(stopped, [this] {
    // All stop at once, then each is waited for.
    for (auto& worker : workers) worker->box()->close();
    for (auto& pooler : poolers) pooler->box().close();
    if (encoder) encoder->close();
    for (auto& worker : workers) worker->stop();
    for (auto& pooler : poolers) pooler->stop();
    if (!store) return;
    if (const auto saved = store->save(); !saved) log::warning("engine", "{}", saved.error().message);
  });
}

const ModelFacts& InferenceEngine::facts() const { return impl_->model->facts(); }
const SamplingOptions& InferenceEngine::default_sampling() const { return impl_->model->default_sampling(); }

std::span<const Token> InferenceEngine::end_tokens() const { return impl_->model->end_tokens(); }
const llama_model* InferenceEngine::model() const { return impl_->model->handle(); }
const llama_vocab* InferenceEngine::vocab() const { return impl_->model->vocab(); }

Result<std::vector<Token>> InferenceEngine::tokenize(std::string_view text, bool add_special,
                                                     bool parse_special) const {
  return impl_->model->tokenize(text, add_special, parse_special);
}

Result<std::shared_ptr<const SharedGrammar>> InferenceEngine::prepare_grammar(const GrammarOptions& options) const {
  return make_grammar(*impl_->model, options);
}

std::string InferenceEngine::detokenize(std::span<const Token> tokens, bool render_special) const {
  std::string text;
  for (const Token token : tokens) {
    if (!is_media(token)) impl_->model->append_piece(token, render_special, text);
  }
  return text;
}

std::string InferenceEngine::piece(Token token, bool render_special) const {
  return detokenize(std::span(&token, 1), render_special);
}

bool InferenceEngine::is_end_of_generation(Token token) const {
  return impl_->model->valid(token) && impl_->model->ends_generation(token);
}

Result<SessionId> InferenceEngine::create_session(SessionOptions options) {
  if (impl_->without_weights) return no_weights();
  if (impl_->workers.empty()) {
    return fail(errc::unsupported, fmt::format("this is an {} model: it can't generate text", to_string(facts().kind)));
  }
  const MutexLock lock(impl_->mutex);
  return impl_->create_session(impl_->next_worker, options);
}

Result<SessionId> InferenceEngine::create_session(std::span<const Token> tokens, SessionOptions options,
                                                  std::vector<MediaSpan> media) {
  if (impl_->workers.size() < 2) {
    const auto session = create_session(options);
    return session ? filled(*session, tokens, std::move(media)) : session;
  }
  std::vector<std::uint32_t> busy;
  for (const auto& worker : impl_->workers) busy.push_back(worker->load());
  // Placement by known tokens needs prefix sharing on that worker.
  const bool stays =
      options.share_prefix && impl_->options.prefix_cache_tokens > 0 && impl_->model->memory_rules().divisible;
  const auto known = stays && tokens.size() < facts().n_ctx ? tokens : std::span<const Token>();
  Result<SessionId> session;
  {
    const MutexLock lock(impl_->mutex);
    session = impl_->create_session(impl_->placement.choose(known, busy, impl_->next_worker), options);
  }
  return session ? filled(*session, tokens, std::move(media)) : session;
}

Result<SessionId> InferenceEngine::filled(SessionId session, std::span<const Token> tokens,
                                          std::vector<MediaSpan> media) {
  const auto entry = impl_->entry(session);
  if (!entry) return std::unexpected(entry.error());
  auto appended = impl_->check_tokens(tokens, media);
  if (appended) appended = impl_->append(*entry, {tokens.begin(), tokens.end()}, std::move(media));
  if (appended) return session;
  (void)end_session(session);
  return std::unexpected(std::move(appended.error()));
}

Result<SessionId> InferenceEngine::Impl::create_session(std::uint32_t worker, const SessionOptions& wanted) {
  if (workers[worker]->in_flight().closed()) return going_away();
  const std::uint32_t max = model->facts().n_ctx;
  const std::uint32_t limit = wanted.n_ctx == 0 ? max : std::min(wanted.n_ctx, max);
  auto adapters = wanted.adapters ? checked_adapters(*wanted.adapters) : Result<AdapterScales>(default_adapters);
  if (!adapters) return std::unexpected(std::move(adapters.error()));
  auto shared = std::make_shared<SessionShared>(SessionId(ids->fetch_add(1)), limit, std::move(*adapters));
  // Under the lock, so that a session reaches its worker before any other command about it.
  if (!workers[worker]->box()->post(CreateSession{shared, wanted.share_prefix})) return going_away();
  next_worker = (worker + 1) % static_cast<std::uint32_t>(workers.size());
  sessions.emplace(shared->id.value(), Entry{shared, worker});
  return shared->id;
}

// Scales in the form of SessionShared::adapters.
Result<AdapterScales> InferenceEngine::Impl::checked_adapters(const AdapterScales& scales) const {
  const auto& files = model->facts().adapter_files;
  if (scales.size() != files.size()) {
    return fail(errc::invalid_argument,
                fmt::format("{} scales for {} adapters: give one for each", scales.size(), files.size()), "adapters");
  }
  if (!std::ranges::all_of(scales, [](float scale) { return std::isfinite(scale); }))
    return fail(errc::invalid_argument, "a scale of an adapter must be a number", "adapters");
  return std::ranges::equal(scales, files, {}, {}, &ModelFacts::Adapter::scale) ? AdapterScales() : scales;
}

Result<> InferenceEngine::set_adapter_scales(const AdapterScales& scales) {
  auto checked = impl_->checked_adapters(scales);
  if (!checked) return std::unexpected(std::move(checked.error()));
  const MutexLock lock(impl_->mutex);
  impl_->default_adapters = std::move(*checked);
  return {};
}

AdapterScales InferenceEngine::adapter_scales() const {
  {
    const MutexLock lock(impl_->mutex);
    if (!impl_->default_adapters.empty()) return impl_->default_adapters;
  }
  AdapterScales scales;
  for (const auto& adapter : facts().adapter_files) scales.push_back(adapter.scale);
  return scales;
}

Result<> InferenceEngine::Impl::append(const Entry& entry, std::vector<Token> tokens, std::vector<MediaSpan> media) {
  if (tokens.empty()) return {};
  SessionShared& shared = *entry.shared;
  // Count them only if they fit: a running generation ends when this count reaches the context.
  std::uint32_t before = shared.tokens;
  do {
    const std::uint64_t after = std::uint64_t{before} + tokens.size();
    if (after >= shared.n_ctx)
      return std::unexpected(context_full({.needed = after + 1, .n_past = before, .n_ctx = shared.n_ctx}));
  } while (!shared.tokens.compare_exchange_weak(before, before + static_cast<std::uint32_t>(tokens.size())));
  if (workers[entry.worker]->box()->post(AppendTokens{shared.id, std::move(tokens), std::move(media)})) return {};
  return going_away();
}

Result<> InferenceEngine::append_input(SessionId session, std::string_view text, bool parse_special) {
  const auto entry = impl_->entry(session);
  if (!entry) return std::unexpected(entry.error());
  if (text.empty()) return {};
  auto tokens = impl_->model->tokenize(text, entry->shared->tokens == 0, parse_special);
  if (!tokens) return std::unexpected(tokens.error());
  return impl_->append(*entry, std::move(*tokens));
}

Result<> InferenceEngine::append_input(SessionId session, std::span<const Token> tokens) {
  const auto entry = impl_->entry(session);
  if (!entry) return std::unexpected(entry.error());
  if (auto fine = impl_->check_tokens(tokens); !fine) return fine;
  return impl_->append(*entry, {tokens.begin(), tokens.end()});
}

Result<> InferenceEngine::Impl::check_tokens(std::span<const Token> tokens, std::span<const MediaSpan> media) const {
  if (!media.empty() && !encoder) return fail(errc::unsupported, "this model takes no pictures and no sounds");
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (model->valid(tokens[i])) continue;
    const std::size_t span = span_behind(media, static_cast<std::uint32_t>(i));
    if (span < media.size() && media[span].begin <= i) continue;
    return fail(errc::invalid_argument,
                fmt::format("token {} is not in the vocabulary of {} tokens", tokens[i], model->facts().n_vocab),
                "tokens");
  }
  return {};
}

Result<std::vector<MediaPart>> InferenceEngine::read_media(MediaBytes file) const {
  if (impl_->projector) return impl_->projector->read(file);
  if (impl_->without_weights && (facts().vision || facts().sound)) return no_weights();
  return fail(errc::unsupported, "this model takes no pictures and no sounds");
}

Result<> InferenceEngine::check(const GenerateOptions& options) const {
  auto sampler = Sampler::make(*impl_->model, options.sampling, options.grammar, facts().n_ctx);
  if (!sampler) return std::unexpected(std::move(sampler.error()));
  return {};
}

bool InferenceEngine::has_weights() const { return !impl_->without_weights; }

Result<StreamHandle> InferenceEngine::generate_stream(SessionId session, GenerateOptions options) {
  const auto entry = impl_->entry(session);
  if (!entry) return std::unexpected(entry.error());
  Worker& worker = *impl_->workers[entry->worker];
  SessionShared& shared = *entry->shared;
  if (shared.generations.fetch_add(1) > 0 && !options.supersede) {
    --shared.generations;
    return std::unexpected(session_busy(session));
  }
  const std::uint32_t max = impl_->options.max_under_way();
  auto ticket = worker.in_flight().enter(max);
  const auto give_up = [&](std::unexpected<Error> error) {
    --shared.generations;
    return error;
  };
  if (!ticket && ticket.error() == InFlight::Refusal::closed) return give_up(going_away());
  if (!ticket) return give_up(std::unexpected(queue_full({max})));
  // A sampler (above all its grammar) costs much more than a refusal, so a flood of requests must be refused before.
  auto sampler = Sampler::make(*impl_->model, options.sampling, options.grammar, shared.n_ctx);
  if (!sampler) return give_up(std::unexpected(std::move(sampler.error())));

  Generation generation;
  // The stream may outlive the engine, so it holds the box, not the worker.
  const std::shared_ptr<CommandBox> box = worker.box();
  // The pointer is compared only: the worker checks that the stream it would cancel is still the one that runs.
  auto self = std::make_shared<const StreamState*>(nullptr);
  generation.stream = std::make_shared<StreamState>(
      impl_->options.stream_tokens,
      StreamState::Owner{
          .drained = [box] { box->wake(); },
          .cancelled = [box, self, session] { box->post(CancelGeneration{session, *self}, session.value()); }},
      options.each_token ? StreamState::Unread::apart : StreamState::Unread::joined);
  *self = generation.stream.get();
  generation.ticket = std::move(*ticket);
  generation.sampler = std::move(*sampler);
  generation.max_new_tokens = options.max_new_tokens;
  generation.n_probs = options.n_probs;
  generation.post_sampling_probs = options.post_sampling_probs;
  generation.report_progress = options.progress;
  generation.report_prompt = options.prompt_progress;
  generation.max_predict = options.max_predict;
  generation.shift = options.shift;
  if (generation.shift) generation.shift->keep_bos = facts().add_bos;
  generation.client = std::move(options.client);
  generation.background = options.background;
  generation.render_special = options.render_special;
  generation.preserved_tokens = std::move(options.preserved_tokens);
  generation.filter = StopStringFilter(std::move(options.stop));
  generation.posted = MonoClock::now();
  StreamHandle handle(generation.stream);
  if (!box->post(StartGeneration{session, std::move(generation)}, options.supersede ? session.value() : 0)) {
    return give_up(going_away());
  }
  return handle;
}

Result<> InferenceEngine::cancel_generate(SessionId session) {
  const auto entry = impl_->entry(session);
  if (!entry) return std::unexpected(entry.error());
  if (impl_->workers[entry->worker]->box()->post(CancelGeneration{session}, session.value())) return {};
  return going_away();
}

Result<> InferenceEngine::end_session(SessionId session) {
  const MutexLock lock(impl_->mutex);
  const auto found = impl_->sessions.find(session.value());
  if (found == impl_->sessions.end()) return std::unexpected(session_not_found(session));
  impl_->workers[found->second.worker]->box()->post(EndSession{session}, session.value());
  impl_->sessions.erase(found);
  return {};
}

Result<std::uint32_t> InferenceEngine::worker_of(SessionId session) const {
  const auto entry = impl_->entry(session);
  if (!entry) return std::unexpected(entry.error());
  return entry->worker;
}

bool InferenceEngine::has_session(SessionId session) const { return impl_->entry(session).has_value(); }

void InferenceEngine::sessions(std::move_only_function<void(std::vector<SessionView>)> done) const {
  auto listing = std::make_shared<SessionListing>(std::move(done));
  const auto workers = static_cast<std::uint32_t>(impl_->workers.size());
  // The last command takes the last reference: otherwise a fast worker could leave the call of `done` to this thread.
  for (std::uint32_t i = 0; i < workers; ++i)
    impl_->workers[i]->box()->post(DescribeSessions{i + 1 < workers ? listing : std::move(listing), i});
}

std::vector<SessionView> InferenceEngine::sessions() const {
  std::promise<std::vector<SessionView>> listed;
  auto list = listed.get_future();
  sessions(
      [listed = std::move(listed)](std::vector<SessionView> views) mutable { listed.set_value(std::move(views)); });
  return list.get();
}

void InferenceEngine::set_threads(std::int32_t n_threads, std::int32_t n_threads_batch) {
  const SetThreads threads{std::max(1, n_threads), std::max(1, n_threads_batch)};
  for (auto& worker : impl_->workers) worker->box()->post(threads);
  for (auto& pooler : impl_->poolers) pooler->box().post(threads);
}

DownsizeReport InferenceEngine::downsize() {
  std::vector<std::future<DownsizeReport>> reports;
  const auto ask = [&reports](auto& box) {
    auto promise = std::make_shared<std::promise<DownsizeReport>>();
    auto report = promise->get_future();
    if (box.post(Downsize{[promise](DownsizeReport done) { promise->set_value(done); }}))
      reports.push_back(std::move(report));
  };
  for (auto& worker : impl_->workers) ask(*worker->box());
  for (auto& pooler : impl_->poolers) ask(pooler->box());
  DownsizeReport sum{.done = !reports.empty()};
  for (auto& report : reports) {
    const DownsizeReport one = report.get();
    sum.done = sum.done && one.done;
    sum.sessions += one.sessions;
    sum.parked_bytes += one.parked_bytes;
  }
  if (sum.done && impl_->store) {
    // With a folder, parked conversations are also saved there.
    if (const auto saved = impl_->store->save(); !saved) log::warning("engine", "{}", saved.error().message);
    sum.parked_bytes -= std::min(sum.parked_bytes, impl_->store->let_go_of_saved());
  }
  // Return freed memory to the system now, and again after the tasks that free more.
  heap::give_back();
  impl_->executor->run([] { heap::give_back(); });
  return sum;
}

Stats InferenceEngine::stats() const {
  Stats stats;
  for (const auto& worker : impl_->workers) stats.workers.push_back(worker->stats());
  for (const auto& pooler : impl_->poolers) stats.workers.push_back(pooler->stats());
  if (impl_->store) stats.parked = impl_->store->stats();
  if (impl_->encoder) stats.media = impl_->encoder->stats();
  return stats;
}

}  // namespace corral::engine
