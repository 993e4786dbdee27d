// Filters of inference requests that belong to no other room.
#pragma once

#include "api/base/inference_call.h"
#include "api/filters/context.h"

namespace corral::api {

// Refuses a request that may not load its model, if the model isn't in memory (autoload.h).
Filter autoload_filter(InferenceContext& context);
// Refuses pictures and sound that the model doesn't read, and gives pictures their canonical form: those at URLs of
// the web are fetched, if the server may (media_filter.cpp).
Filter media_filter(FilterContext& context);
// Gives requests for speech a voice that the model has.
Filter voice_filter(FilterContext& context);
// Makes formats of speech that only a program can make.
Filter speech_format_filter(FilterContext& context);
// Adds default values of request fields: those of an alias, then those of the server.
Filter default_filter(FilterContext& context);
// Errors name fields as the client's body does.
Filter own_name_filter();
// Keeps the turns of a conversation at one node of a mesh.
Filter conversation_filter();

// For forms. Converts sound that backends can't read.
Filter plain_sound_filter(FilterContext& context);
// Transcribes long sound piece by piece (transcript_pieces.h).
Filter transcript_pieces_filter(FilterContext& context);
// Answers with events, if the request wants a stream (transcript_stream.h).
Filter transcript_stream_filter(FilterContext& context);

}  // namespace corral::api
