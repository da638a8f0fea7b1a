import CommonTesting
import Foundation
package import PostgresClient
import Synchronization

/// A PostgreSQL server of the test process, on a Unix socket in a temporary folder. Tests share one server, with a
/// database for each test, unless they need a server that stops and starts. It ends with the process, even if that
/// crashes.
package final class TestServer: Sendable {
    /// The script starts the server as another user if necessary, because PostgreSQL refuses to run as root. When its
    /// standard input ends, and so the process has ended, it stops the server and removes the folder.
    private static let script = """
        folder=$1
        as=
        if [ "$(id -u)" = 0 ]; then
            owner=nobody
            if id postgres >/dev/null 2>&1; then owner=postgres; fi
            chown "$owner" "$folder"
            as="setpriv --reuid=$owner --regid=$(id -g "$owner") --clear-groups"
        fi
        cd "$folder"
        PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
        $as initdb -D "$folder/data" -U carillon -A trust -E UTF8 --locale=C --no-sync >"$folder/log" 2>&1
        start() {
            $as postgres -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off -c max_connections=600 \\
                -c shared_buffers=64MB -c autovacuum=off >>"$folder/log" 2>&1 &
            server=$!
        }
        start
        while read -r line; do
            case $line in
            crash) kill -QUIT "$server"; wait "$server" ;;
            start) start ;;
            esac
        done
        kill -INT "$server"
        wait "$server"
        rm -rf "$folder"
        """

    private static let shared = Task { try await TestServer() }

    private let folder: String
    private let process: ChildProcess
    private let nextDatabase = Atomic<Int>(0)

    private init() async throws {
        var template = Array("/tmp/carillon-pg-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw PostgresError(.other, "There is no temporary folder.") }
        folder = String(cString: made)
        process = try await ChildProcess("/bin/sh", ["-c", Self.script, "sh", folder])
        try await waitUntilReady()
    }

    private func waitUntilReady() async throws {
        while process.isRunning {
            if try await isReady { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw PostgresError(.other, "PostgreSQL does not start: is it installed (script/bootstrap --tests)?")
    }

    private var isReady: Bool {
        get async throws {
            let connection = PostgresConnection(try PostgresLocation(url(of: "postgres")), name: "test")
            let isReady = (try? await connection.execute("SELECT 1")) != nil
            await connection.close()
            return isReady
        }
    }

    private func url(of database: String, for user: String = "carillon") -> String {
        "postgresql:///\(database)?host=\(folder)&user=\(user)"
    }

    /// Makes an empty database.
    /// - Returns: Its URL.
    package func makeURL() async throws -> String {
        let name = nextName()
        try await administer("CREATE DATABASE \(name) TEMPLATE template0")
        return url(of: name)
    }

    /// Makes a user who is not a superuser, and an empty database that belongs to the user.
    /// - Returns: Its URL.
    package func makeURL(for user: String) async throws -> String {
        let name = nextName()
        try await administer("CREATE ROLE \(user) LOGIN", "CREATE DATABASE \(name) OWNER \(user) TEMPLATE template0")
        return url(of: name, for: user)
    }

    private func nextName() -> String { "test\(nextDatabase.wrappingAdd(1, ordering: .relaxed).newValue)" }

    /// Makes an empty database on the shared server.
    /// - Returns: Its URL.
    package static func makeURL() async throws -> String { try await shared.value.makeURL() }

    /// Makes an empty database on the shared server.
    package static func makeDatabase() async throws -> PostgresLocation { try PostgresLocation(try await makeURL()) }

    /// Executes commands, each in its own transaction.
    private func administer(_ commands: String...) async throws {
        let connection = PostgresConnection(try PostgresLocation(url(of: "postgres")), name: "test")
        for command in commands { _ = try await connection.execute([PostgresStatement(assembled: command)]) }
        await connection.close()
    }

    /// Executes the statements of a file, each of which ends with a semicolon at the end of a line.
    package static func execute(_ sql: String, in location: PostgresLocation) async throws {
        let connection = PostgresConnection(location, name: "test")
        for statement in sql.split(separator: ";\n") {
            _ = try await connection.execute([PostgresStatement(once: String(statement), [])])
        }
        await connection.close()
    }

    /// Sets a parameter of a database, and makes all connections to it start again.
    package static func set(_ parameter: String, to value: String, in location: PostgresLocation) async throws {
        let name = String(location.description.split(separator: "/").last ?? "")
        try await shared.value.administer(
            "ALTER DATABASE \(name) SET \(parameter) = \(value)",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'")
    }

    // MARK: Servers that end and begin

    /// Calls `body` with a server that no other test uses.
    package static func withOwn(_ body: (TestServer) async throws -> Void) async throws {
        let server = try await TestServer()
        defer { server.process.closeInput() }
        try await body(server)
    }

    /// Kills the server, and waits until it is gone.
    package func crash() async throws {
        try process.type("crash\n")
        try await wait(while: try await isReady)
    }

    /// Sets a parameter of the whole server.
    package func set(_ parameter: String, to value: String) async throws {
        try await administer("ALTER SYSTEM SET \(parameter) = '\(value)'", "SELECT pg_reload_conf()")
    }

    /// Limits how many connections a user may have, and ends those that there are. -1 is no limit.
    package func limitConnections(of user: String, to count: Int) async throws {
        try await administer(
            "ALTER ROLE \(user) CONNECTION LIMIT \(count)",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '\(user)'")
    }

    package func start() async throws {
        try process.type("start\n")
        try await waitUntilReady()
    }
}
