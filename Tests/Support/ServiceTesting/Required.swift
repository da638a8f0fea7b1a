/// Returns the value. If it is nil, throws an error with the line.
func required<Value>(
    _ value: Value?,
    _ file: StaticString = #fileID,
    _ line: Int = #line,
) throws -> Value {
    guard let value else { throw MissingValue(place: "\(file):\(line)") }
    return value
}

private struct MissingValue: Error {
    let place: String
}
