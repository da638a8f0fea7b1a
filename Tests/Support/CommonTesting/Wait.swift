/// Waits as long as a condition holds, for what nothing announces. It asks again after a short pause, because a loop without one
/// takes the processor from what the test waits for. At a test's limit of time it throws, so that no test runs for ever.
package func wait(while condition: @autoclosure () async throws -> Bool) async throws {
    _ = try await firstValue { try await condition() ? nil : () }
}

/// Asks for a value until there is one, as `wait(while:)` does.
package func firstValue<Value>(_ value: () async throws -> Value?) async throws -> Value {
    while true {
        if let value = try await value() { return value }
        try await Task.sleep(for: .milliseconds(2))
    }
}
