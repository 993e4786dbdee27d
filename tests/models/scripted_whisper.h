// A whisper model in whisper.cpp's own file format, which says one sentence whatever it hears, once for each 30
// seconds.
//
// All blocks add nothing. A position's embedding is the code of the token that is said there, and the words' rows of
// the token table are those codes: so position i says word i. A prompt of the client's moves the positions, and takes
// as many words from the front. Translating starts half a second later than transcribing does, so that the two can be
// told apart by their times. The language that it detects is English.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace corral::test_models {

struct SpokenScript {
  std::vector<std::string> words{};  // as tokens, each with the space in front of it; at most six different ones
  double seconds = 2;                // the end of the sentence, a multiple of 0.02
};

// What a transcription says.
std::string text_of(const SpokenScript& script);

void write_scripted_whisper(const std::filesystem::path& path, const std::string& name, const SpokenScript& script,
                            std::uint64_t seed);

}  // namespace corral::test_models
