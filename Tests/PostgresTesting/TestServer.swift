import Foundation
package import PostgresClient
import Synchronization

/// A PostgreSQL server of the test process's own, on a Unix socket in a temporary folder. All tests share it, each with
/// a database of its own. It ends with the process, however that ends.
package final class TestServer: Sendable {
    /// PostgreSQL refuses to run as root. The script ends when its standard input does, which is when the process is
    /// gone, and takes everything along.
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
        $as postgres -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off -c max_connections=600 \\
            -c shared_buffers=64MB -c autovacuum=off >>"$folder/log" 2>&1 &
        server=$!
        read -r line
        kill -INT "$server"
        wait "$server"
        rm -rf "$folder"
        """

    private static let shared = Task { try await TestServer() }

    private let folder: String
    private let input: Pipe
    private let nextDatabase = Atomic<Int>(0)

    private init() async throws {
        var template = Array("/tmp/carillon-pg-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw PostgresError(.other, "There is no temporary folder.") }
        folder = String(cString: made)
        input = Pipe()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", Self.script, "sh", folder]
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        try await waitUntilReady(process)
    }

    private func waitUntilReady(_ process: Process) async throws {
        while process.isRunning {
            let connection = PostgresConnection(try location(of: "postgres"), name: "test")
            let isReady = (try? await connection.execute("SELECT 1")) != nil
            await connection.close()
            if isReady { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw PostgresError(.other, "PostgreSQL does not start: is it installed (script/bootstrap --tests)?")
    }

    private func location(of database: String) throws -> PostgresLocation {
        try PostgresLocation("postgresql:///\(database)?host=\(folder)&user=carillon")
    }

    /// Makes an empty database.
    package static func makeDatabase() async throws -> PostgresLocation {
        let server = try await shared.value
        let name = "test\(server.nextDatabase.wrappingAdd(1, ordering: .relaxed).newValue)"
        let connection = PostgresConnection(try server.location(of: "postgres"), name: "test")
        _ = try await connection.execute([PostgresStatement(assembled: "CREATE DATABASE \(name) TEMPLATE template0")])
        await connection.close()
        return try server.location(of: name)
    }
}
