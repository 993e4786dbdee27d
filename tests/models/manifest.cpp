#include "manifest.h"

#include <array>
#include <fstream>
#include <memory>
#include <stdexcept>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <openssl/evp.h>

#include "version.h"

namespace corral::test_models {
namespace {

std::string sha256_of(const std::filesystem::path& path) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> digest(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(digest.get(), EVP_sha256(), nullptr);
  std::ifstream file(path, std::ios::binary);
  std::vector<char> block(1 << 16);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    EVP_DigestUpdate(digest.get(), block.data(), static_cast<std::size_t>(file.gcount()));
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(digest.get(), sum.data(), &size);
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", sum[i]);
  return hex;
}

}  // namespace

void measure(const std::filesystem::path& folder, Entry& entry) {
  entry.size = std::filesystem::file_size(folder / entry.file);
  entry.sha256 = sha256_of(folder / entry.file);
}

void write_manifest(const std::filesystem::path& path, std::uint64_t seed, const std::vector<Entry>& entries) {
  std::string lines;
  for (const Entry& entry : entries) {
    boost::json::object line{
        {"file", entry.file}, {"type", entry.type}, {"size", entry.size}, {"sha256", entry.sha256}};
    if (!entry.text.empty()) line["text"] = entry.text;
    if (!entry.loop.empty()) line["loop"] = entry.loop;
    lines += (lines.empty() ? "\n" : ",\n") + boost::json::serialize(line);
  }
  std::ofstream out(path, std::ios::binary);
  out << fmt::format("{{\"version\": {}, \"seed\": {}, \"models\": [{}]}}\n", kGeneratorVersion, seed, lines);
  out.close();
  if (!out) throw std::runtime_error(fmt::format("cannot write {}", path.string()));
}

}  // namespace corral::test_models
