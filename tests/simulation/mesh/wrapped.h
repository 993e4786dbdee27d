// Networks and streams that do something else than the ones they stand before.
#pragma once

#include <functional>
#include <memory>

#include "mesh/net/stream.h"

namespace corral::mesh::simulation {

// Passes everything on.
class WrappedStream : public Stream {
 public:
  explicit WrappedStream(std::unique_ptr<Stream> inner) : inner_(std::move(inner)) {}

  const Peer& peer() const override { return inner_->peer(); }
  Purpose purpose() const override { return inner_->purpose(); }
  async::Task<Result<std::size_t>> read_some(std::span<char> space) override { return inner_->read_some(space); }
  async::Task<Result<>> write(std::string_view bytes) override { return inner_->write(bytes); }
  async::Task<void> finish() override { return inner_->finish(); }
  void close() override { inner_->close(); }
  async::Task<Result<bool>> readable() override { return inner_->readable(); }
  bool is_quiet() const override { return inner_->is_quiet(); }
  Sha256 exporter(std::string_view label) const override { return inner_->exporter(label); }

 protected:
  Stream& inner() { return *inner_; }

 private:
  std::unique_ptr<Stream> inner_;
};

using WrapStream = std::function<std::unique_ptr<Stream>(std::unique_ptr<Stream>)>;
// The same network with its control streams wrapped.
std::unique_ptr<Network> wrapped(std::unique_ptr<Network> network, WrapStream wrap);

}  // namespace corral::mesh::simulation
