// What strangers can do to the real network: little, and not for long.
#include "mesh/net/tls/tls_network.h"

#include <atomic>
#include <cstring>
#include <thread>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <openssl/ec.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include "base/unique_fd.h"
#include "mesh/link/network_fixture_for_tests.h"
#include "mesh/net/tls/certificate.h"

namespace corral::mesh {
namespace {

TEST(Certificate, CarriesItsKeyAndIsValidWheneverItIs) {
  const auto key = test_key(1);
  const auto certificate = make_certificate(key);
  EXPECT_EQ(key_of(certificate.get()), key.public_key());
  EXPECT_LT(X509_cmp_time(X509_get0_notBefore(certificate.get()), std::array<time_t, 1>{1}.data()), 0);
  EXPECT_GT(X509_cmp_time(X509_get0_notAfter(certificate.get()), std::array<time_t, 1>{200'000'000'000}.data()), 0);
  EXPECT_FALSE(key_of(nullptr));
}

class UnknownClients : public NetworkFixture {
 protected:
  TlsNetwork& network() { return static_cast<TlsNetwork&>(*net_b); }

  // A blocking connection from outside.
  UniqueFd plain() const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(at_b.port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    return fd;
  }
  static bool is_closed(const UniqueFd& fd) {
    char byte;
    const auto got = ::recv(fd.get(), &byte, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN);
  }
  // OpenSSL's own client, prepared by `prepare`. Whether it could read a byte of the application's.
  bool gets_in(const std::function<void(SSL_CTX*, SSL*)>& prepare) {
    std::atomic<int> result = -1;
    std::thread client([&] {
      const auto fd = plain();
      SSL_CTX* context = SSL_CTX_new(TLS_client_method());
      prepare(context, nullptr);
      SSL* ssl = SSL_new(context);
      prepare(nullptr, ssl);
      SSL_set_fd(ssl, fd.get());
      char byte = 0;
      result = SSL_connect(ssl) == 1 && SSL_read(ssl, &byte, 1) == 1 ? 1 : 0;
      SSL_free(ssl);
      SSL_CTX_free(context);
    });
    EXPECT_TRUE(until([&] { return result >= 0; }));
    client.join();
    settle();
    return result == 1;
  }
  static void offer(SSL* ssl, std::string_view name) {
    std::string list(1, static_cast<char>(name.size()));
    list += name;
    SSL_set_alpn_protos(ssl, reinterpret_cast<const unsigned char*>(list.data()), static_cast<unsigned>(list.size()));
  }
  async::Task<void> dial_to(Place place, StreamResult& into) {
    std::vector<NodeId> pins{b.id()};
    auto dialling = net_a->dial(std::move(place), std::move(pins), Purpose::control);
    into = co_await std::move(dialling);
  }
  static void use(SSL_CTX* context, const SigningKey& key) {
    SSL_CTX_use_certificate(context, make_certificate(key).get());
    SSL_CTX_use_PrivateKey(context, key.handle());
  }
};
INSTANTIATE_TEST_SUITE_P(Networks, UnknownClients, testing::Values(Kind::tls), kind_name);

TEST_P(UnknownClients, ThoseWhoDoNothingMakeRoomForThoseWhoDo) {
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 12; ++i) {
    idle.push_back(plain());
    settle();
    EXPECT_LE(network().pending(), 4u);  // of one address
  }
  EXPECT_TRUE(is_closed(idle.front()));
  EXPECT_FALSE(is_closed(idle.back()));
  connect();  // a member comes in all the same
  // And who stays silent is sent away in the end.
  pass(Millis(3500), Millis(500));
  EXPECT_TRUE(until([&] { return network().pending() == 0; }));
  EXPECT_TRUE(is_closed(idle.back()));
}

TEST_P(UnknownClients, RubbishEndsTheConnection) {
  for (const std::string& rubbish :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100'000, '\xff'),
        std::string("\x16\x03\x01\xff\xff\x01\xff\xff\xff", 9) + std::string(300'000, 'x')}) {
    const auto fd = plain();
    ::send(fd.get(), rubbish.data(), rubbish.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ::shutdown(fd.get(), SHUT_WR);
    settle();
    EXPECT_TRUE(until([&] { return network().pending() == 0; }));
  }
  connect();
}

TEST_P(UnknownClients, OnlyOurKeysOurNamesAndTls13GetIn) {
  const auto good = [&](SSL_CTX* context, SSL* ssl) {
    if (context) use(context, a);
    if (ssl) offer(ssl, "corral/1/control");
  };
  EXPECT_TRUE(gets_in(good));
  int asked = 0;
  verdict = [&](const PublicKey&, Purpose) {
    ++asked;
    return Result<>();
  };
  EXPECT_FALSE(gets_in([&](SSL_CTX* context, SSL* ssl) {  // another major
    if (context) use(context, a);
    if (ssl) offer(ssl, "corral/2/control");
  }));
  EXPECT_FALSE(gets_in([&](SSL_CTX* context, SSL*) {  // no name at all
    if (context) use(context, a);
  }));
  EXPECT_FALSE(gets_in([&](SSL_CTX*, SSL* ssl) {  // no certificate
    if (ssl) offer(ssl, "corral/1/control");
  }));
  EXPECT_FALSE(gets_in([&](SSL_CTX* context, SSL* ssl) {
    good(context, ssl);
    if (ssl) SSL_set_max_proto_version(ssl, TLS1_2_VERSION);
  }));
  EXPECT_FALSE(gets_in([&](SSL_CTX* context, SSL* ssl) {  // a key of another kind
    if (ssl) offer(ssl, "corral/1/control");
    if (!context) return;
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_dup(make_certificate(a).get());
    X509_set_pubkey(certificate, key);
    X509_sign(certificate, key, EVP_sha256());
    SSL_CTX_use_certificate(context, certificate);
    SSL_CTX_use_PrivateKey(context, key);
    X509_free(certificate);
    EVP_PKEY_free(key);
  }));
  EXPECT_EQ(asked, 0);
}

TEST_P(UnknownClients, ACertificateOfSomebodyElseNeedsTheirKey) {
  // The certificate of a, signed with another key: the handshake's own signature can't fit.
  EXPECT_FALSE(gets_in([&](SSL_CTX* context, SSL* ssl) {
    if (ssl) offer(ssl, "corral/1/control");
    if (!context) return;
    X509* certificate = X509_dup(make_certificate(c).get());
    X509_set_pubkey(certificate, a.handle());
    X509_sign(certificate, c.handle(), nullptr);
    SSL_CTX_use_certificate(context, certificate);
    SSL_CTX_use_PrivateKey(context, c.handle());
    X509_free(certificate);
  }));
}

TEST_P(UnknownClients, WhoJoinsCountsAsAStrangerUntilItIsDone) {
  connect(Purpose::join);
  EXPECT_EQ(network().pending(), 1u);
  accepted.reset();
  EXPECT_EQ(network().pending(), 0u);
  connect(Purpose::control);
  EXPECT_EQ(network().pending(), 0u);
}

TEST_P(UnknownClients, AConnectionThatNobodyTakesIsClosedWithTheNetwork) {
  run(dial(Purpose::control, {b.id()}));
  ASSERT_TRUE(*dialled);
  settle();
  net_b.reset();
  std::optional<Error> ended;
  auto read = [](Stream& stream, std::optional<Error>& error) -> async::Task<void> {
    char byte;
    const auto got = co_await stream.read_some({&byte, 1});
    if (!got) error = got.error();
  };
  run(read(at_a(), ended));
  EXPECT_TRUE(ended);
}

TEST_P(UnknownClients, SoManyHandshakesASecondAreBegunAndMembersHaveTheirOwn) {
  const auto tried = [&](int connections) {
    int open_ones = 0;
    for (int i = 0; i < connections; ++i) {
      const auto fd = plain();
      settle();
      open_ones += is_closed(fd) ? 0 : 1;
    }
    return open_ones;
  };
  TlsOptions few;
  few.handshakes = {1, 4};
  few.handshakes_per_address = few.handshakes_per_member_address = {1, 8};
  const auto listen = [&] {
    net_b.reset();
    auto listening = std::make_unique<TlsNetwork>(loop.executor(), b, timers, few);
    at_b = *listening->listen({"127.0.0.1", 0},
                              [this](const PublicKey& key, Purpose purpose) { return verdict(key, purpose); });
    net_b = std::move(listening);
  };
  listen();
  EXPECT_EQ(tried(6), 4);
  pass(Millis(20000), Millis(1000));
  connect();  // a member's address: strangers don't use up what it may do, only itself
  EXPECT_EQ(tried(12), 8);
  // However many addresses members have.
  few.handshakes_of_members = {1, 5};
  listen();
  connect();
  EXPECT_EQ(tried(12), 5);
}

// The thread that finds addresses was one for all: who told names that take long kept this node from where its settings
// send it.
TEST_P(UnknownClients, ADialOfTheSettingsDoesntWaitForNamesThatAreTold) {
  struct Names {
    std::atomic<bool> released = false;
    std::atomic<int> asked = 0;
  };
  struct Release {
    ~Release() { names->released = true; }
    std::shared_ptr<Names> names = std::make_shared<Names>();
  };
  const Release held;
  TlsOptions options;
  options.look_up = [names = held.names](const Address& address) {
    ++names->asked;
    while (address.host == "slow" && !names->released) std::this_thread::yield();
    return FoundName{{{async::asio::ip::address_v4::loopback(), address.port}}, {}, Millis(0)};
  };
  net_a = std::make_unique<TlsNetwork>(loop.executor(), a, timers, options);
  StreamResult slow, own;
  group.spawn("told", dial_to(Address{"slow", at_b.port}, slow));
  ASSERT_TRUE(until([&] { return held.names->asked == 1; }));
  group.spawn("own", dial_to(Place({"own", at_b.port}, Origin::settings), own));
  ASSERT_TRUE(until([&] { return own.has_value(); }));
  EXPECT_TRUE(*own) << own->error().message;
  EXPECT_FALSE(slow);
  held.names->released = true;
  ASSERT_TRUE(until([&] { return slow.has_value(); }));
  EXPECT_TRUE(*slow);
  group.cancel();
}

TEST_P(UnknownClients, ATakenPortIsSaid) {
  TlsNetwork other(loop.executor(), c, timers);
  const auto taken = other.listen(at_b, verdict);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, errc::unreachable);
  EXPECT_EQ(other.listen({"no address", 1}, verdict).error().code, errc::bad_address);
}

}  // namespace
}  // namespace corral::mesh
