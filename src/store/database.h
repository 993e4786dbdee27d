// One SQLite file and its statements, for the thread of the store. Internal to store/.
//
// Values are parameters, never text of a statement. Errors are thrown as Failure, and roll a transaction back.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace corral::store {

class Failure : public std::exception {
 public:
  Failure(int code, std::string text) : code_(code), text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  int code() const { return code_; }
  bool damaged() const;       // the file is no database, or damaged
  bool full() const;          // the disk or the file's limit is full
  bool of_statement() const;  // this statement is impossible; the file is unchanged

 private:
  int code_;
  std::string text_;
};

class Database;

// The rows of one query. Columns count from 0.
class Rows {
 public:
  bool next();
  std::string text(int column) const;
  std::int64_t number(int column) const;
  std::optional<std::int64_t> maybe(int column) const;  // nothing for NULL

 private:
  friend class Database;
  explicit Rows(sqlite3_stmt* statement);
  void bind(int at, std::string_view text);
  void bind(int at, const std::string& text) { bind(at, std::string_view(text)); }
  void bind(int at, const char* text) { bind(at, std::string_view(text)); }
  void bind(int at, std::int64_t number);
  void bind(int at, std::uint64_t number) { bind(at, static_cast<std::int64_t>(number)); }
  void bind(int at, int number) { bind(at, std::int64_t{number}); }
  void bind(int at, std::optional<std::int64_t> number);

  struct Finish {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finish> statement_;
};

class Database {
 public:
  // Opens or creates the file; only the user may read it. No other process may have it open.
  explicit Database(const std::filesystem::path& file);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  template <typename... Values>
  Rows ask(std::string_view sql, const Values&... values) {
    Rows rows(prepare(sql));
    int at = 0;
    (rows.bind(++at, values), ...);
    return rows;
  }
  // Returns the number of changed rows.
  template <typename... Values>
  int run(std::string_view sql, const Values&... values) {
    auto rows = ask(sql, values...);
    while (rows.next());
    return changes();
  }
  // The first column of the first row; 0 without rows.
  template <typename... Values>
  std::int64_t number(std::string_view sql, const Values&... values) {
    auto rows = ask(sql, values...);
    return rows.next() ? rows.number(0) : 0;
  }

 private:
  sqlite3_stmt* prepare(std::string_view sql);
  int changes() const;

  sqlite3* handle_ = nullptr;
};

// Rolled back unless it is committed.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) { database_.run("BEGIN IMMEDIATE"); }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    database_.run("COMMIT");
    open_ = false;
  }

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace corral::store
