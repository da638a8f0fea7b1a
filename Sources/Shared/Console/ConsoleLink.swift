package import HTTPAPI

/// The address that signs a browser in to a console.
package struct ConsoleLink: JSONMessage {
    package let url: String

    package static let form: JSONForm<ConsoleLink> = .object(
        "ConsoleLink", ConsoleLink.init(url:),
        .required("url", .text(.any), \.url, "The link works once, within five minutes."))

    package init(url: String) { self.url = url }
}
