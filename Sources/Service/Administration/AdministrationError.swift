/// What was asked for cannot be.
struct AdministrationError: Error {
    let cause: String
    init(_ cause: String) { self.cause = cause }
}
