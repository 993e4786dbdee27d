// HTTP messages as plain values, independent of the transport.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::http {

// Header fields in order of arrival. Names compare without regard to case.
class Headers {
 public:
  struct Field {
    std::string name;
    std::string value;
  };

  // Value of the first field of that name, or an empty view.
  std::string_view get(std::string_view name) const;
  bool has(std::string_view name) const;
  void add(std::string_view name, std::string_view value) {
    fields_.push_back({std::string(name), std::string(value)});
  }
  // Replaces every field of that name by one.
  void set(std::string_view name, std::string_view value);
  void remove(std::string_view name);

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }
  void reserve(std::size_t count) { fields_.reserve(count); }

 private:
  std::vector<Field> fields_;
};

bool same_name(std::string_view a, std::string_view b);
// Fields for one connection only (RFC 9110 §7.6.1), which proxies don't forward.
bool is_hop_by_hop(std::string_view name);

struct RequestHead {
  std::string method = "GET";
  std::string target = "/";  // path and query as sent
  Headers headers;

  std::string_view path() const;   // without the query and trailing slashes, still percent-encoded
  std::string_view query() const;  // without '?'
};

struct ResponseHead {
  unsigned status = 200;
  Headers headers;
};

std::string_view reason_phrase(unsigned status);
// "a%20b+c" -> "a b+c"; malformed escapes stay as they are.
std::string percent_decode(std::string_view text);
// Value of `name` in a query string, decoded.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

}  // namespace corral::http
