#if PostgreSQL
    import CommonTesting
    import Delivery
    import Foundation
    import PostgresTesting
    import Service

    /// Two services on one new database.
    enum TwoServices {
        static func run(
            _ change: @escaping (inout Settings) -> Void = { _ in },
            _ body: (TestService, TestService) async throws -> Void,
        ) async throws {
            let location = try await TestServer.makeDatabase()
            let file = FileManager.default.temporaryDirectory.appendingPathComponent(
                "key-\(UUID().uuidString.prefix(8))")
            defer { try? FileManager.default.removeItem(at: file) }
            try Data(String(repeating: "5a", count: 32).utf8).write(to: file)
            func settings(_ name: String) -> (inout Settings) -> Void {
                {
                    $0.store = .postgresql(location)
                    $0.storeKeyFile = file.path
                    $0.nodeName = name
                    // On a busy machine a notification may wait for seconds before it is stored. A node that is so late answers
                    // 503 (decision 0071), which has tests of its own.
                    $0.delivery.promptStoring = .seconds(60)
                    $0.channels.promptStoring = .seconds(60)
                    change(&$0)
                }
            }
            try await TestService.run(settings("one")) { one in
                try await TestService.run(settings("two")) { two in try await body(one, two) }
            }
        }

        /// Two services that can reach each other directly. Returns to the body when they are connected.
        static func runConnected(_ body: (TestService, TestService) async throws -> Void) async throws {
            try await run {
                $0.peer = ListenAddress(host: "127.0.0.1", port: 0)
            } _: { one, two in
                for service in [one, two] {
                    let path = "/v1/log?id=\(UUID().uuidString)"
                    try await wait(while: try await service.ask("GET", path).text.contains("unanswered"))
                }
                try await body(one, two)
            }
        }
    }
#endif
