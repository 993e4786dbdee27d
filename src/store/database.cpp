#include "store/database.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/unique_fd.h"

namespace corral::store {
namespace {

// Another process with the file may be about to exit: a server that restarts.
constexpr int kPatienceMs = 2'000;

// Creates the file with its final rights, so that other users can never read it. SQLite gives the same rights to its
// other files.
void make_private(const std::filesystem::path& file) {
  const UniqueFd descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!descriptor || ::fchmod(descriptor.get(), 0600) != 0) throw Failure(SQLITE_CANTOPEN, std::strerror(errno));
}

[[noreturn]] void fail(sqlite3* handle, int code) {
  const Failure failure(code, handle == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle));
  // A damaged file stays as it is, and its log beside it: closing would write the log into the file, and delete it.
  if (handle != nullptr && failure.damaged()) sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  throw failure;
}

}  // namespace

bool Failure::damaged() const {
  const int cause = code_ & 0xff;
  return cause == SQLITE_CORRUPT || cause == SQLITE_NOTADB;
}

bool Failure::of_statement() const {
  const int cause = code_ & 0xff;
  return cause == SQLITE_CONSTRAINT || cause == SQLITE_TOOBIG;
}

bool Failure::full() const { return (code_ & 0xff) == SQLITE_FULL; }

void Rows::Finish::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Rows::Rows(sqlite3_stmt* statement) : statement_(statement) {}

bool Rows::next() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  auto* handle = sqlite3_db_handle(statement_.get());
  fail(handle, sqlite3_extended_errcode(handle));
}

std::string Rows::text(int column) const {
  const auto* bytes = sqlite3_column_text(statement_.get(), column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return bytes == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(bytes), size);
}

std::int64_t Rows::number(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::optional<std::int64_t> Rows::maybe(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return number(column);
}

void Rows::bind(int at, std::string_view text) {
  const char* bytes = text.data() == nullptr ? "" : text.data();
  const int code = sqlite3_bind_text64(statement_.get(), at, bytes, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) fail(nullptr, code);
}

void Rows::bind(int at, std::int64_t number) {
  if (const int code = sqlite3_bind_int64(statement_.get(), at, number); code != SQLITE_OK) fail(nullptr, code);
}

void Rows::bind(int at, std::optional<std::int64_t> number) {
  if (number) return bind(at, *number);
  if (const int code = sqlite3_bind_null(statement_.get(), at); code != SQLITE_OK) fail(nullptr, code);
}

Database::Database(const std::filesystem::path& file) {
  make_private(file);
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(file.c_str(), &handle_, flags, nullptr);
  try {
    if (code != SQLITE_OK) fail(handle_, code);
    sqlite3_busy_timeout(handle_, kPatienceMs);
    run("PRAGMA locking_mode = EXCLUSIVE");
    run("PRAGMA auto_vacuum = INCREMENTAL");  // before the first table
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = NORMAL");
    run("PRAGMA secure_delete = ON");  // overwrites deleted data
    run("PRAGMA foreign_keys = ON");
    run("PRAGMA journal_size_limit = 16777216");
    run("PRAGMA trusted_schema = OFF");
    run("BEGIN IMMEDIATE");  // detects now whether another process has it
    run("COMMIT");
  } catch (...) {
    sqlite3_close_v2(handle_);
    throw;
  }
}

Database::~Database() { sqlite3_close_v2(handle_); }

sqlite3_stmt* Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) fail(handle_, code);
  return statement;
}

int Database::changes() const { return sqlite3_changes(handle_); }

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.run("ROLLBACK");
  } catch (const Failure&) {
    // The failure itself may have ended the transaction.
  }
}

}  // namespace corral::store
