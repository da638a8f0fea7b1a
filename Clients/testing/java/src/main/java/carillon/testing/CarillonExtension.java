package carillon.testing;

import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/** Resolves the parameters {@link APNs} and {@link Carillon} of tests. {@link CarillonTest} registers it. */
public final class CarillonExtension implements ParameterResolver, AfterTestExecutionCallback {
    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(CarillonExtension.class);

    /** Ends with its context: the service with the run, and a team with its test. */
    private record Kept(Carillon carillon, APNs apns) implements ExtensionContext.Store.CloseableResource {
        @Override
        public void close() {
            if (apns != null) apns.close();
            if (carillon != null) carillon.close();
        }
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return type == APNs.class || type == Carillon.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        if (parameter.getParameter().getType() == Carillon.class) return shared(context);
        return context.getStore(NAMESPACE).getOrComputeIfAbsent(APNs.class, unused -> make(context), Kept.class).apns();
    }

    private static Carillon shared(ExtensionContext context) {
        Object kept = context.getRoot().getStore(NAMESPACE).getOrComputeIfAbsent(Carillon.class, unused -> {
            try {
                return new Kept(Carillon.start(), null);
            } catch (CarillonException e) {
                // A second attempt would only let each test wait as long as the first.
                return e;
            }
        });
        if (kept instanceof Kept service) return service.carillon();
        throw (CarillonException) kept;
    }

    private static Kept make(ExtensionContext context) {
        CarillonTest settings = context.getElement()
                .flatMap(method -> AnnotationSupport.findAnnotation(method, CarillonTest.class))
                .or(() -> AnnotationSupport.findAnnotation(context.getRequiredTestClass(), CarillonTest.class)).orElse(null);
        if (settings == null) return new Kept(null, shared(context).team());
        Carillon own = null;
        if (!settings.accept().isEmpty() || settings.options().length > 0) {
            own = Carillon.start(new Carillon.Settings().accept(settings.accept().isEmpty() ? null : settings.accept())
                    .options(settings.options()));
        }
        try {
            return new Kept(own, (own == null ? shared(context) : own)
                    .team(settings.teamID(), settings.bundleID(), settings.keyID(), settings.privateKeyPEM()));
        } catch (RuntimeException e) {
            if (own != null) own.close();
            throw e;
        }
    }

    /** If a test failed, its report gets what the backend sent. */
    @Override
    public void afterTestExecution(ExtensionContext context) {
        Kept kept = context.getStore(NAMESPACE).get(APNs.class, Kept.class);
        if (kept == null || context.getExecutionException().isEmpty()) return;
        context.publishReportEntry("what the backend sent to apns", String.join("\n", kept.apns().sent()));
    }
}
