// The pages that the links of mails open. The token is in the fragment, which browsers do not send. The page removes it
// from the address and sends it in the body of a request, after a click.
const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
const form = document.getElementById("form");
const message = document.getElementById("message");
const operations = {
  "password-reset": { usr_: "/auth/password-reset/confirm", cus_: "/customer-auth/password-reset/confirm" },
  email: { cus_: "/customer-auth/email/confirm" },
};
const path = operations[form.dataset.operation][token.slice(0, 4)];
history.replaceState(null, "", location.pathname);

if (path) {
  form.hidden = false;
} else {
  message.textContent = "This link is incomplete. Open the link in the email again, or request a new one.";
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  message.textContent = "";
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token, ...Object.fromEntries(new FormData(form)) }),
    });
    const body = await response.json();
    if (body.success) {
      form.hidden = true;
      form.reset();
      message.textContent = form.dataset.done;
    } else {
      message.textContent = body.error.details?.[0]
        ? "The " + body.error.details[0].path + " " + body.error.details[0].message + "."
        : sentence(body.error.message);
    }
  } catch {
    message.textContent = "The service cannot be reached. Try again.";
  }
  button.disabled = false;
});

function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1) + ".";
}
