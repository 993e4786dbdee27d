// Translates answers of transcription servers.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
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

std::string transcript_events(const http::Response& transcript) {
  const auto text = text_in(transcript);
  std::string events;
  const auto add = [&](std::string_view type, std::string_view field) {
    std::string event;
    json::Writer(event).begin_object().field("type", type).field(field, text).end_object();
    events += http::sse_event(type, event);
  };
  if (!text.empty()) add("transcript.text.delta", "delta");
  add("transcript.text.done", "text");
  return events + std::string(http::kSseDone);
}

}  // namespace corral::dialects::audio
