#if PostgreSQL
    import Foundation
    import Service
    import Testing

    @testable import ServiceTesting

    /// The permissions of the file with a store key.
    @Suite struct StoreKeyFileTests {
        private func withKey(mode: Int, _ body: (String) throws -> Void) async throws {
            try await withTemporaryFolder { folder in
                let file = folder + "/store.key"
                try String(repeating: "c", count: 64).write(toFile: file, atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
                try body(file)
            }
        }

        @Test(arguments: [(0o600, false), (0o640, false), (0o644, true), (0o444, true)])
        func `A key that other users can read is used, and known to be open`(_ mode: Int, _ isOpen: Bool) async throws {
            try await withKey(mode: mode) { file in
                _ = try StoreKeyFile.read(file)
                #expect(StoreKeyFile.othersMayRead(file) == isOpen)
            }
        }

        @Test(arguments: [0o666, 0o602])
        func `A key that every user can change is refused`(mode: Int) async throws {
            try await withKey(mode: mode) { file in
                let error = #expect(throws: ServiceError.self) { try StoreKeyFile.read(file) }
                #expect(error?.description.contains("chmod 600") == true, "\(String(describing: error))")
            }
        }
    }
#endif
