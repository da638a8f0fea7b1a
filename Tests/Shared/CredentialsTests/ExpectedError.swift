import Credentials
import Testing

/// Expects a ``TrustError`` with the given code.
func expect<Value>(
    _ code: TrustError.Code,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Value,
) {
    let error = #expect(throws: TrustError.self, sourceLocation: sourceLocation) { _ = try body() }
    #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
}
