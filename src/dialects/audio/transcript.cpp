// Translates answers of transcription servers.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "dialects/audio/joined_transcript.h"
#include "dialects/audio/transcription.h"
#include "dialects/error_filter.h"
#include "http/sse.h"
#include "json/value.h"
#include "json/writer.h"
#include "protocol/errors.h"

namespace corral::dialects::audio {
namespace {

using protocol::errc;

// Whisper's server ends each segment with a line end, even in the middle of a sentence. Spaces between words are before
// the words.
std::string one_line(std::string_view text) {
  std::string joined(text);
  if (joined.ends_with('\n')) std::erase(joined, '\n');
  return std::string(trimmed(joined));
}

// The words of a cue begin with the space after the previous words.
std::string plain_cues(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (line.starts_with(' ')) line.remove_prefix(1);
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    out.append(line).push_back('\n');
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

http::Response refused(std::string_view why) {
  return error_response(Error(make_error_code(errc::bad_value), std::string(why), "file"));
}

// Members have a fixed order; further members of the backend are dropped.
void write_segment(json::Writer& out, const json::Value& segment, std::size_t number) {
  out.begin_object().field("id", static_cast<std::int64_t>(json::number_or(segment, "id", double(number))));
  out.field("seek", static_cast<std::int64_t>(json::number_or(segment, "seek", 0)));
  for (const char* name : {"start", "end"}) out.field(name, json::number_or(segment, name, 0));
  out.field("text", json::text_or(segment, "text", "")).key("tokens").begin_array();
  const auto* tokens = json::find(segment, "tokens");
  for (const auto& token : tokens && tokens->is_array() ? tokens->get_array() : json::Array()) {
    if (token.is_int64()) out.value(token.get_int64());
  }
  out.end_array();
  for (const char* name : {"temperature", "avg_logprob", "compression_ratio", "no_speech_prob"})
    out.field(name, json::number_or(segment, name, 0));
  out.end_object();
}

void write_word(json::Writer& out, const json::Value& word) {
  out.begin_object().field("word", trimmed(json::text_or(word, "word", "")));
  for (const char* name : {"start", "end"}) out.field(name, json::number_or(word, name, 0));
  out.end_object();
}

const json::Array& array_of(const json::Value& from, std::string_view name) {
  static const json::Array kNone;
  const auto* found = json::find(from, name);
  return found && found->is_array() ? found->get_array() : kNone;
}

std::string verbose(const json::Value& transcript, const TranscriptionAsked& asked) {
  std::string text;
  json::Writer out(text);
  out.begin_object().field("task", json::text_or(transcript, "task", "transcribe"));
  out.field("language", json::text_or(transcript, "language", ""))
      .field("duration", json::number_or(transcript, "duration", 0));
  out.field("text", one_line(json::text_or(transcript, "text", "")));
  const auto& segments = array_of(transcript, "segments");
  if (asked.segments) {
    out.key("segments").begin_array();
    for (std::size_t i = 0; i < segments.size(); ++i) write_segment(out, segments[i], i);
    out.end_array();
  }
  if (asked.words) {
    // Whisper's server has words within segments, others have a separate list.
    out.key("words").begin_array();
    for (const auto& word : array_of(transcript, "words")) write_word(out, word);
    for (const auto& segment : segments) {
      for (const auto& word : array_of(segment, "words")) write_word(out, word);
    }
    out.end_array();
  }
  out.end_object();
  return text;
}

http::Response with_text(http::Response answer, std::string_view type, std::string text) {
  auto translated = http::Response::text(answer.head.status, type, std::move(text));
  return translated;
}

// The text of an answer that is JSON from some servers and plain from others.
std::string text_in(const http::Response& answer) {
  const auto& body = answer.body.text();
  if (!answer.head.headers.get("Content-Type").starts_with("application/json")) return one_line(body);
  const auto parsed = json::parse(body);
  return parsed ? one_line(json::text_or(*parsed, "text", "")) : one_line(body);
}

std::string text_event(std::string_view type, std::string_view field, std::string_view text) {
  std::string event;
  json::Writer(event).begin_object().field("type", type).field(field, text).end_object();
  return http::sse_event(type, event);
}

// To milliseconds: times of programs are hundredths of a second.
double in_milliseconds(double seconds) { return std::round(seconds * 1'000) / 1'000; }

void shift(json::Value& timed, double seconds) {
  auto* const object = timed.if_object();
  if (object == nullptr) return;
  for (const char* name : {"start", "end"})
    (*object)[name] = in_milliseconds(json::number_or(timed, name, 0) + seconds);
  if (object->contains("seek")) (*object)["seek"] = std::llround(json::number_or(timed, "seek", 0) + seconds * 100);
}

// "00:01:02,500"
std::string cue_time(double seconds, char point) {
  const auto all = std::max<std::int64_t>(0, std::llround(seconds * 1'000));
  return fmt::format("{:02}:{:02}:{:02}{}{:03}", all / 3'600'000, all / 60'000 % 60, all / 1'000 % 60, point,
                     all % 1'000);
}

}  // namespace

http::Response translate_transcript(const Canonical& request, http::Response answer) {
  const auto& asked = *static_cast<const TranscriptionAsked*>(request.facts.get());
  if (answer.failure) return answer;
  if (answer.head.status == 400) {
    // For unreadable sound whisper's server returns no more than this; the fields were checked before.
    const bool has_message = answer.body.text().find("\"message\"") != std::string::npos;
    if (has_message) return answer;
    return refused("'file' cannot be read as audio: send a complete wav, mp3, flac or ogg (Vorbis) file");
  }
  if (answer.head.status != 200) return answer;
  switch (asked.format) {
    case TranscriptFormat::json: {
      std::string text;
      json::Writer(text).begin_object().field("text", text_in(answer)).end_object();
      return with_text(std::move(answer), "application/json", std::move(text));
    }
    case TranscriptFormat::text: {
      auto text = text_in(answer);
      return with_text(std::move(answer), "text/plain; charset=utf-8", std::move(text));
    }
    case TranscriptFormat::verbose_json: {
      const auto transcript = json::parse(answer.body.text());
      if (!transcript)
        return error_response(Error(make_error_code(errc::remote_upstream),
                                    "the backend's transcript is not JSON: " + transcript.error().message));
      return with_text(std::move(answer), "application/json", verbose(*transcript, asked));
    }
    case TranscriptFormat::srt: {
      auto text = plain_cues(answer.body.text());
      return with_text(std::move(answer), "application/x-subrip; charset=utf-8", std::move(text));
    }
    case TranscriptFormat::vtt: {
      auto text = plain_cues(answer.body.text());
      return with_text(std::move(answer), "text/vtt; charset=utf-8", std::move(text));
    }
  }
  return answer;
}

std::string transcript_delta_event(std::string_view text) { return text_event("transcript.text.delta", "delta", text); }
std::string transcript_done_events(std::string_view text) {
  return text_event("transcript.text.done", "text", text) + std::string(http::kSseDone);
}

std::string transcript_events(const http::Response& transcript) {
  const auto text = text_in(transcript);
  return (text.empty() ? "" : transcript_delta_event(text)) + transcript_done_events(text);
}

TranscriptionAsked JoinedTranscript::of_piece(const TranscriptionAsked& whole) {
  return {.format = TranscriptFormat::verbose_json, .words = whole.words, .segments = true};
}

Result<std::string> JoinedTranscript::add(const http::Response& transcript, double at) {
  const auto parsed = json::parse(transcript.body.text());
  if (!parsed) {
    return fail(errc::remote_upstream, fmt::format("the backend's transcript is not JSON: {}", parsed.error().message));
  }
  const auto& segments = array_of(*parsed, "segments");
  for (auto segment : segments) {
    shift(segment, at);
    if (auto* const object = segment.if_object()) (*object)["id"] = static_cast<std::int64_t>(segments_.size());
    segments_.push_back(std::move(segment));
  }
  for (auto word : array_of(*parsed, "words")) {
    shift(word, at);
    words_.push_back(std::move(word));
  }
  if (task_.empty()) task_ = json::text_or(*parsed, "task", "");
  if (language_.empty()) language_ = json::text_or(*parsed, "language", "");
  const auto text = json::text_or(*parsed, "text", "");
  if (text.empty()) return std::string();
  // Languages without spaces between words have none between segments.
  const bool is_spaced = segments.empty() || json::text_or(segments.front(), "text", " ").starts_with(' ');
  auto added = (is_spaced && !text_.empty() ? " " : "") + std::string(text);
  text_ += added;
  return added;
}

http::Response JoinedTranscript::whole(double duration) const {
  std::string body;
  json::Writer out(body);
  switch (asked_.format) {
    case TranscriptFormat::json:
      out.begin_object().field("text", text_).end_object();
      return http::Response::json(200, std::move(body));
    case TranscriptFormat::text:
      return http::Response::text(200, "text/plain; charset=utf-8", text_);
    case TranscriptFormat::srt:
      return http::Response::text(200, "application/x-subrip; charset=utf-8", cues(false));
    case TranscriptFormat::vtt:
      return http::Response::text(200, "text/vtt; charset=utf-8", cues(true));
    case TranscriptFormat::verbose_json:
      break;
  }
  out.begin_object().field("task", task_.empty() ? std::string_view("transcribe") : std::string_view(task_));
  out.field("language", language_).field("duration", duration).field("text", text_);
  if (asked_.segments) {
    out.key("segments").begin_array();
    for (std::size_t i = 0; i < segments_.size(); ++i) write_segment(out, segments_[i], i);
    out.end_array();
  }
  if (asked_.words) {
    out.key("words").begin_array();
    for (const auto& word : words_) write_word(out, word);
    out.end_array();
  }
  out.end_object();
  return http::Response::json(200, std::move(body));
}

std::string JoinedTranscript::cues(bool vtt) const {
  std::string text = vtt ? "WEBVTT\n" : "";
  const char point = vtt ? '.' : ',';
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (!text.empty()) text += '\n';
    if (!vtt) text += fmt::format("{}\n", i + 1);
    const auto from = json::number_or(segments_[i], "start", 0), to = json::number_or(segments_[i], "end", 0);
    text += fmt::format("{} --> {}\n{}\n", cue_time(from, point), cue_time(to, point),
                        one_line(json::text_or(segments_[i], "text", "")));
  }
  return text;
}

}  // namespace corral::dialects::audio
