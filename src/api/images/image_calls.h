// The calls of a backend that make the images of one request, one after another.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "api/base/inference_call.h"
#include "api/images/context.h"
#include "dialects/images/answers.h"

namespace corral::api {

// Shared by the tasks that use it. On the loop of the request.
class ImageCalls {
 public:
  // `call`: complete, before the last filters, which are `next`.
  ImageCalls(ImagesContext& context, CallPtr call, Next next);

  const dialects::images::ImagesAsked& asked() const { return *asked_; }
  unsigned left() const { return asked_->n - done_; }

  using Images = std::vector<dialects::images::MadeImage>;
  // The images of one more call: up to `max`, at least one. Else the error answer, whose body is a text. Keeps
  // `calls`.
  static async::Task<std::expected<Images, http::Response>> next(std::shared_ptr<ImageCalls> calls, unsigned max);
  // Seconds since 1970.
  std::int64_t now() const;

 private:
  // The call with the request for some of the images.
  CallPtr part(unsigned n);
  async::Task<Result<Images>> read(http::Response answer);
  // Keeps the images of this server's URLs.
  async::Task<Result<>> keep(Images& images);

  ImagesContext& context_;
  const CallPtr call_;
  const Next next_;
  const std::shared_ptr<const dialects::images::ImagesAsked> asked_;
  const std::string base_;  // of URLs: "http://localhost:8000/v1/images/files/"
  unsigned done_ = 0;
};

}  // namespace corral::api
