// Answers to the calls of other programs on the bus.
extension BusMessage {
    /// The answer to a call, without values.
    static func answer(to call: BusMessage) -> BusMessage {
        BusMessage(kind: .answer, replySerial: call.serial, destination: call.sender)
    }

    /// The answer to a call that failed.
    /// - Parameter name: the name of the error, such as `org.freedesktop.DBus.Error.InvalidArgs`.
    static func error(_ name: String, _ text: String, to call: BusMessage) -> BusMessage {
        var message = BusMessage(kind: .error, replySerial: call.serial, destination: call.sender, errorName: name)
        message.signature = "s"
        message.body.write(text)
        return message
    }

    /// The names of errors that the specification defines.
    enum ErrorName {
        static let invalidArguments = "org.freedesktop.DBus.Error.InvalidArgs"
        static let unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
        static let limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"
    }
}
