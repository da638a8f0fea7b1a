import Testing

@testable import PostgresClient

@Suite("The URL of a database")
struct PostgresLocationTests {
    @Test(arguments: [
        ("postgresql://db.example.com/carillon", "3", "5000"),
        ("postgresql://db.example.com/carillon?connect_timeout=7", "7", "5000"),
        ("postgresql://db.example.com/carillon?tcp_user_timeout=0", "3", "0"),
    ])
    func `The limits of time have defaults, which the URL replaces`(
        _ url: String, connecting: String, silence: String
    ) throws {
        let location = try PostgresLocation(url)
        let options = PostgresSession.options(location, "test")
        func value(_ name: String) -> String? { options.last { $0.name == name }?.value }
        // What the options do not set, libpq takes from the URL.
        #expect(value("dbname") == url)
        for (name, limit) in [("connect_timeout", connecting), ("tcp_user_timeout", silence)] {
            #expect(location.sets(name) ? value(name) == nil && url.contains("\(name)=\(limit)") : value(name) == limit)
        }
    }

    @Test(arguments: [
        "//db.example.com/c", "//192.0.2.1/c", "//[2001:db8::1]/c", "//db.example.com/c?sslmode=prefer",
        "//db.example.com/c?sslmode=disable", "//localhost,db.example.com/c", "//localhost/c?hostaddr=192.0.2.1",
        "//127.example.com/c",
    ])
    func `Another machine without TLS may get plain text`(_ rest: String) throws {
        #expect(try PostgresLocation("postgresql:" + rest).mayBePlainText([:]))
    }

    @Test(arguments: [
        "///c", "///c?host=/var/run/postgresql", "//localhost/c", "//127.0.0.1:5432/c", "//[::1]/c",
        "//db.example.com/c?hostaddr=127.0.0.1", "///c?host=/a,/b", "//db.example.com/c?sslmode=require",
        "//db.example.com/c?sslmode=verify-ca", "//db.example.com/c?sslmode=verify-full",
        "//db.example.com/c?gssencmode=require",
    ])
    func `This machine and encrypted connections are no reason to warn`(_ rest: String) throws {
        #expect(try !PostgresLocation("postgresql:" + rest).mayBePlainText([:]))
    }

    @Test
    func `Variables count for what the URL does not set`() throws {
        let (near, far) = (
            try PostgresLocation("postgresql:///c"), try PostgresLocation("postgresql://db.example.com/c")
        )
        #expect(near.mayBePlainText(["PGHOST": "db.example.com"]))
        #expect(!far.mayBePlainText(["PGSSLMODE": "require"]))
        #expect(far.mayBePlainText(["PGHOST": "localhost", "PGSSLMODE": "prefer"]))
    }
}
