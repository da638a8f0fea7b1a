import HTTPAPI

/// The schemas of bodies and answers that are not messages with a form.
enum ManagementSchemas {
    static let anything = Schema.named("OpenAPI", .openObject)
}
